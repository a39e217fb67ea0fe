"""The stand-in's own authority, its server and client certificates, and a signing key."""
import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAMES = ["localhost", "api.push.apple.com", "api.sandbox.push.apple.com"]


def _name(text):
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _write(path, data, secret=False):
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600 if secret else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def _private(key):
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _certificate(subject, key, issuer, issuer_key, *extensions):
    now = datetime.datetime.utcnow()
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        # Tests turn clocks back and forth; that is not what the certificate is there to catch.
        .not_valid_before(now - datetime.timedelta(days=3650))
        .not_valid_after(now + datetime.timedelta(days=3650))
    )
    for extension in extensions:
        critical = isinstance(extension, x509.BasicConstraints)
        builder = builder.add_extension(extension, critical=critical)
    return builder.sign(issuer_key, hashes.SHA256())


def make(directory):
    """Writes ca.pem, server.pem, server.key, client.pem, client.key and key.p8; returns the public
    key that the provider's tokens must be signed with."""
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = "apns-standin test authority"
    authority = _certificate(
        ca_name, ca_key, ca_name, ca_key, x509.BasicConstraints(ca=True, path_length=0)
    )
    server_key = ec.generate_private_key(ec.SECP256R1())
    names = [x509.DNSName(name) for name in NAMES]
    names += [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1")]
    server = _certificate(
        "apns-standin", server_key, ca_name, ca_key, x509.SubjectAlternativeName(names)
    )
    client_key = ec.generate_private_key(ec.SECP256R1())
    client = _certificate(
        "provider", client_key, ca_name, ca_key, x509.BasicConstraints(ca=False, path_length=None)
    )
    signing = ec.generate_private_key(ec.SECP256R1())
    pem = serialization.Encoding.PEM
    _write(os.path.join(directory, "ca.pem"), authority.public_bytes(pem))
    _write(os.path.join(directory, "server.pem"), server.public_bytes(pem))
    _write(os.path.join(directory, "server.key"), _private(server_key), secret=True)
    _write(os.path.join(directory, "client.pem"), client.public_bytes(pem))
    _write(os.path.join(directory, "client.key"), _private(client_key), secret=True)
    _write(os.path.join(directory, "key.p8"), _private(signing), secret=True)
    return signing.public_key()
