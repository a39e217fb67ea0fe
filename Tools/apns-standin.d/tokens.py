"""Provider tokens (JWT, RFC 7519 with ES256 of RFC 7518), verified as strictly as Apple does."""
import base64
import binascii
import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

LIFE = 60 * 60
BETWEEN_NEW = 20 * 60
# How far ahead a provider's clock may be.
AHEAD = 60


class Refused(Exception):
    """A token that Apple refuses: the status and the reason."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason


def _decode(text):
    if "=" in text:
        raise ValueError("padding")
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


class Verifier:
    """Knows the tokens of the one team; over all connections of all environments."""

    def __init__(self, public_key, team, key_id):
        self.public_key, self.team, self.key_id = public_key, team, key_id
        self.known = {}
        self.updates = []
        self.last_new = None

    def reset(self):
        self.known, self.updates, self.last_new = {}, [], None

    def _issued_at(self, text):
        parts = text.split(".")
        if len(parts) != 3:
            raise Refused(403, "InvalidProviderToken")
        try:
            header, claims = (json.loads(_decode(part)) for part in parts[:2])
            signature = _decode(parts[2])
        except (ValueError, binascii.Error):
            raise Refused(403, "InvalidProviderToken") from None
        issued = claims.get("iat") if isinstance(claims, dict) else None
        good = (
            isinstance(header, dict)
            and header.get("alg") == "ES256"
            and header.get("kid") == self.key_id
            and isinstance(claims, dict)
            and claims.get("iss") == self.team
            and type(issued) is int  # no float, no text, no bool
            and len(signature) == 64
        )
        if not good:
            raise Refused(403, "InvalidProviderToken")
        r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
        try:
            self.public_key.verify(
                encode_dss_signature(r, s),
                f"{parts[0]}.{parts[1]}".encode(),
                ec.ECDSA(hashes.SHA256()),
            )
        except InvalidSignature:
            raise Refused(403, "InvalidProviderToken") from None
        return issued

    def check(self, authorization, now):
        """Raises Refused unless the header is a token that is valid now."""
        if authorization is None:
            raise Refused(403, "MissingProviderToken")
        scheme, _, text = authorization.partition(" ")
        if scheme.lower() != "bearer" or not text:
            raise Refused(403, "InvalidProviderToken")
        issued = self.known.get(text)
        fresh = issued is None
        if fresh:
            issued = self._issued_at(text)
        if issued > now + AHEAD:
            raise Refused(403, "InvalidProviderToken")
        if issued < now - LIFE:
            raise Refused(403, "ExpiredProviderToken")
        if fresh:
            if self.last_new is not None and now - self.last_new < BETWEEN_NEW:
                raise Refused(429, "TooManyProviderTokenUpdates")
            self.known[text] = issued
            self.last_new = now
            self.updates.append(issued)
