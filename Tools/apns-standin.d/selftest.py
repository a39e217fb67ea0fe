"""Shows that the stand-in is as strict as it says: run it, or have the gateway's tests run it."""
import asyncio
import base64
import json
import os
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

import certificates
import devices
import rules
import tokens

BUNDLE = "org.talk.app"
GOOD = {
    ":method": "POST", ":path": "/3/device/00ff", "apns-push-type": "pushtotalk",
    "apns-topic": BUNDLE + ".voip-ptt", "apns-priority": "10", "apns-expiration": "0",
    "apns-id": "00000000-0000-0001-0000-000000000001",
}
BODY = b'{"aps":{}}'


class Requests(unittest.TestCase):
    def reason(self, changes=None, body=BODY):
        header = {**GOOD, **(changes or {})}
        header = {name: value for name, value in header.items() if value is not None}
        try:
            rules.device(header)
            rules.check(header, body, BUNDLE)
        except rules.Bad as bad:
            return f"{bad.status} {bad.reason}"
        return "taken"

    def test_a_good_request_is_taken(self):
        self.assertEqual(self.reason(), "taken")
        for kind, suffix in (("voip", ".voip"), ("alert", ""), ("pushtotalk", ".voip-ptt")):
            changes = {"apns-push-type": kind, "apns-topic": BUNDLE + suffix}
            self.assertEqual(self.reason(changes), "taken", kind)

    def test_every_bad_header_has_its_reason(self):
        for changes, wanted in (
            ({":method": "GET"}, "405 MethodNotAllowed"),
            ({":path": "/4/device/00"}, "404 BadPath"),
            ({":path": "/3/device/"}, "400 MissingDeviceToken"),
            ({":path": "/3/device/0g"}, "400 BadDeviceToken"),
            ({":path": "/3/device/abc"}, "400 BadDeviceToken"),
            ({"apns-id": "7"}, "400 BadMessageId"),
            ({"apns-expiration": "-1"}, "400 BadExpirationDate"),
            ({"apns-expiration": "soon"}, "400 BadExpirationDate"),
            ({"apns-priority": "7"}, "400 BadPriority"),
            ({"apns-collapse-id": "x" * 65}, "400 BadCollapseId"),
            ({"apns-push-type": None}, "400 InvalidPushType"),
            ({"apns-push-type": "ptt"}, "400 InvalidPushType"),
            ({"apns-topic": None}, "400 MissingTopic"),
            ({"apns-topic": "com.other.voip-ptt"}, "400 TopicDisallowed"),
            ({"apns-topic": BUNDLE}, "400 BadTopic"),
            ({"apns-topic": BUNDLE + ".voip"}, "400 BadTopic"),
        ):
            self.assertEqual(self.reason(changes), wanted, changes)
        self.assertEqual(self.reason({"apns-collapse-id": "x" * 64}), "taken")
        with self.assertRaises(rules.Bad):
            rules.fields([("apns-id", "1"), ("apns-id", "2")])

    def test_sizes(self):
        def body(count):
            return b'{"aps":{},"x":"' + b"x" * (count - 17) + b'"}'

        voip = {"apns-push-type": "voip", "apns-topic": BUNDLE + ".voip"}
        for changes, count, wanted in (
            ({}, 4096, "taken"), ({}, 4097, "413 PayloadTooLarge"),
            (voip, 5120, "taken"), (voip, 5121, "413 PayloadTooLarge"),
        ):
            self.assertEqual(len(body(count)), count)
            self.assertEqual(self.reason(changes, body(count)), wanted)
        self.assertEqual(self.reason({}, b""), "400 PayloadEmpty")
        self.assertEqual(self.reason({}, b"x"), "400 BadPayload")


class Tokens(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.public = certificates.make(cls.directory.name)
        with open(os.path.join(cls.directory.name, "key.p8"), "rb") as file:
            cls.key = serialization.load_pem_private_key(file.read(), None)

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def token(self, header=None, claims=None, der=False, key=None):
        def encode(data):
            return base64.urlsafe_b64encode(data).rstrip(b"=")

        parts = [{"alg": "ES256", "kid": "KEY1234567", **(header or {})},
                 {"iss": "TEAM123456", "iat": int(time.time()), **(claims or {})}]
        text = b".".join(encode(json.dumps(part).encode()) for part in parts)
        signature = (key or self.key).sign(text, ec.ECDSA(hashes.SHA256()))
        if not der:
            r, s = decode_dss_signature(signature)
            signature = r.to_bytes(32, "big") + s.to_bytes(32, "big")
        return (text + b"." + encode(signature)).decode()

    def reason(self, header, verifier=None, now=None):
        verifier = verifier or tokens.Verifier(self.public, "TEAM123456", "KEY1234567")
        try:
            verifier.check(header, time.time() if now is None else now)
        except tokens.Refused as refused:
            return f"{refused.status} {refused.reason}"
        return "taken"

    def test_only_a_token_as_apple_wants_it_is_taken(self):
        now = int(time.time())
        invalid = "403 InvalidProviderToken"
        self.assertEqual(self.reason("bearer " + self.token()), "taken")
        self.assertEqual(self.reason(None), "403 MissingProviderToken")
        for text in ("basic x", "bearer", "bearer a.b", "bearer a.b.c", self.token()):
            self.assertEqual(self.reason(text), invalid, text)
        for changes in (
            {"header": {"alg": "HS256"}}, {"header": {"kid": "OTHER"}},
            {"claims": {"iss": "OTHER"}}, {"claims": {"iat": now + 0.5}},
            {"claims": {"iat": str(now)}}, {"claims": {"iat": True}}, {"der": True},
            {"claims": {"iat": now + 600}}, {"key": ec.generate_private_key(ec.SECP256R1())},
        ):
            self.assertEqual(self.reason("bearer " + self.token(**changes)), invalid, changes)
        old = "bearer " + self.token(claims={"iat": now - 3700})
        self.assertEqual(self.reason(old), "403 ExpiredProviderToken")

    def test_one_new_token_in_twenty_minutes(self):
        verifier = tokens.Verifier(self.public, "TEAM123456", "KEY1234567")
        now = int(time.time())
        first = "bearer " + self.token(claims={"iat": now})
        second = "bearer " + self.token(claims={"iat": now + 1})
        many = "429 TooManyProviderTokenUpdates"
        self.assertEqual(self.reason(first, verifier, now), "taken")
        self.assertEqual(self.reason(second, verifier, now + 1199), many)
        self.assertEqual(self.reason(first, verifier, now + 1199), "taken")
        self.assertEqual(self.reason(second, verifier, now + 1200), "taken")


class Writer:
    """Stands in for a phone's connection."""

    def __init__(self):
        self.lines = []

    def is_closing(self):
        return False

    def write(self, data):
        self.lines += [json.loads(line) for line in data.splitlines()]

    def pushed(self):
        return [line["push"]["id"] for line in self.lines if "push" in line]


class Phones(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.devices = devices.Devices()
        self.device = self.devices.register("sandbox", "00ff", "org.talk.app.voip")
        self.writer, self.mine = Writer(), []

    def listen(self):
        message = {"register": "00ff", "topic": "org.talk.app.voip"}
        self.devices._message(message, self.writer, self.mine)

    def push(self, identifier, kind="alert", expiration=0):
        self.devices.push(
            self.device, {"id": identifier, "type": kind, "expiration": expiration}
        )

    async def test_a_phone_that_is_away_gets_the_newest_push_that_has_not_expired(self):
        later = time.time() + 60
        self.push("gone")
        self.push("old", expiration=later)
        self.push("new", expiration=later)
        self.listen()
        self.assertEqual(self.writer.pushed(), ["new"])
        self.assertEqual(self.devices.counts["expired"], 1)

    async def test_pushes_are_delayed_lost_and_reordered(self):
        self.listen()
        self.devices.settings["delay"] = 0.02
        self.push("late")
        self.assertEqual(self.writer.pushed(), [])
        await asyncio.sleep(0.05)
        self.assertEqual(self.writer.pushed(), ["late"])
        self.devices.settings.update(delay=0, lose=1.0)
        self.push("lost")
        self.assertEqual(self.devices.counts["lost"], 1)
        self.devices.settings.update(lose=0, reorder=1.0)
        self.push("first")
        self.devices.settings["reorder"] = 0
        self.push("second")
        await asyncio.sleep(0.3)
        self.assertEqual(self.writer.pushed(), ["late", "second", "first"])

    async def test_calls_that_are_not_reported_end_the_app_and_then_block_it(self):
        self.listen()
        self.devices.settings["report_within"] = 0.01
        self.push("good", kind="voip")
        self.devices._message({"report": "call", "id": "good"}, self.writer, self.mine)
        await asyncio.sleep(0.03)
        self.assertEqual(self.devices.counts["killed"], 0)
        for number in range(devices.KILLS_UNTIL_BLOCKED):
            self.push(f"bad{number}", kind="voip")
            await asyncio.sleep(0.03)
        self.assertEqual(self.devices.counts["killed"], 3)
        self.push("blocked", kind="voip")
        self.assertEqual(self.devices.counts["blocked"], 1)
        self.assertNotIn("blocked", self.writer.pushed())

    async def test_audio_needs_a_push(self):
        self.listen()
        self.devices._message({"audio": "open"}, self.writer, self.mine)
        self.assertEqual(self.devices.counts["audio_refused"], 1)
        self.push("speak", kind="pushtotalk")
        self.devices._message({"report": "participant", "id": "speak"}, self.writer, self.mine)
        self.devices._message({"audio": "open"}, self.writer, self.mine)
        self.assertEqual(self.devices.counts["audio_refused"], 1)
        self.devices._message({"cleared": True}, self.writer, self.mine)
        self.devices._message({"audio": "open"}, self.writer, self.mine)
        self.assertEqual(self.devices.counts["audio_refused"], 2)


if __name__ == "__main__":
    unittest.main()
