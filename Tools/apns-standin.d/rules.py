"""What Apple demands of a request: path, headers, topic against type, sizes."""
import json
import re

TYPES = {
    "alert", "background", "voip", "complication", "fileprovider", "mdm", "location",
    "liveactivity", "pushtotalk", "widgets", "controls",
}
SUFFIXES = {"pushtotalk": ".voip-ptt", "voip": ".voip", "complication": ".complication"}
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
NUMBER = re.compile(r"[0-9]{1,12}\Z")
HEX = re.compile(r"(?:[0-9a-fA-F]{2})+\Z")
ONCE = {
    "authorization", "apns-id", "apns-expiration", "apns-priority", "apns-topic",
    "apns-collapse-id", "apns-push-type",
}
MAXIMUM = {"voip": 5120}


class Bad(Exception):
    """A request that Apple refuses: the status, the reason."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status, self.reason = status, reason


def fields(headers):
    """The headers as a dictionary; those that may come once must."""
    result = {}
    for name, value in headers:
        if name in result and name in ONCE:
            raise Bad(400, "DuplicateHeaders")
        result[name] = value
    return result


def device(header):
    """The device token of the path, in lower case."""
    if header.get(":method") != "POST":
        raise Bad(405, "MethodNotAllowed")
    path = header.get(":path", "")
    if not path.startswith("/3/device/"):
        raise Bad(404, "BadPath")
    token = path[len("/3/device/"):]
    if not token:
        raise Bad(400, "MissingDeviceToken")
    if not HEX.match(token) or len(token) > 400:
        raise Bad(400, "BadDeviceToken")
    return token.lower()


def check(header, body, bundle):
    """Everything but the provider token and the device token; returns push type and topic."""
    if "apns-id" in header and not UUID.match(header["apns-id"]):
        raise Bad(400, "BadMessageId")
    if "apns-expiration" in header and not NUMBER.match(header["apns-expiration"]):
        raise Bad(400, "BadExpirationDate")
    if header.get("apns-priority", "10") not in ("1", "5", "10"):
        raise Bad(400, "BadPriority")
    if not 0 < len(header.get("apns-collapse-id", "x").encode()) <= 64:
        raise Bad(400, "BadCollapseId")
    kind = header.get("apns-push-type")
    if kind not in TYPES:
        raise Bad(400, "InvalidPushType")
    topic = header.get("apns-topic")
    if not topic:
        raise Bad(400, "MissingTopic")
    if kind == "background" and header.get("apns-priority", "10") == "10":
        raise Bad(400, "BadPriority")
    if not topic.startswith(bundle):
        raise Bad(400, "TopicDisallowed")
    if topic != bundle + SUFFIXES.get(kind, ""):
        raise Bad(400, "BadTopic")
    if not body:
        raise Bad(400, "PayloadEmpty")
    if len(body) > MAXIMUM.get(kind, 4096):
        raise Bad(413, "PayloadTooLarge")
    try:
        payload = json.loads(body)
    except ValueError:
        raise Bad(400, "BadPayload") from None
    if not isinstance(payload, dict) or not isinstance(payload.get("aps", {}), dict):
        raise Bad(400, "BadPayload")
    return kind, topic
