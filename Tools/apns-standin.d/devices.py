"""The phones behind the service: who is registered, who listens, what happens on the way."""
import asyncio
import json
import random
import time

# How long an app has to say what it did with a push before the system ends it.
REPORT_WITHIN = 5.0
# After so many unreported calls the system delivers no more VoIP pushes to the app.
KILLS_UNTIL_BLOCKED = 3


class Device:
    """One token of one app on one phone."""

    def __init__(self, topic):
        self.topic = topic
        self.gone_at = None
        self.gone_reason = None
        self.writer = None
        self.stored = None
        self.kills = 0
        self.awaiting = {}
        self.participant = False


class Devices:
    """All of them, and the air between."""

    def __init__(self):
        self.table = {}
        self.any_topic = False
        self.random = random.Random(1)
        self.settings = {"delay": 0.0, "lose": 0.0, "reorder": 0.0, "report_within": REPORT_WITHIN}
        self.counts = dict.fromkeys(
            ("delivered", "lost", "stored", "expired", "killed", "blocked", "audio_refused"), 0
        )

    def register(self, environment, token, topic):
        known = self.table.get((environment, token))
        if known is None or known.topic != topic:
            known = self.table[environment, token] = Device(topic)
        known.gone_at = known.gone_reason = None
        return known

    def unregister(self, environment, token, at, reason):
        device = self.table.get((environment, token))
        if device:
            device.gone_at, device.gone_reason = at, reason

    def find(self, environment, token):
        return self.table.get((environment, token))

    def push(self, device, push):
        """A push that the service took: on its way, or stored, or gone."""
        if device.writer is None:
            if push["expiration"] > time.time():
                # One push is kept for a phone that is away: the newest.
                device.stored = push
                self.counts["stored"] += 1
            else:
                self.counts["expired"] += 1
            return
        if self.random.random() < self.settings["lose"]:
            self.counts["lost"] += 1
            return
        delay = self.settings["delay"]
        if self.random.random() < self.settings["reorder"]:
            delay += 0.05 + self.random.random() * 0.2
        if delay > 0:
            asyncio.get_running_loop().call_later(delay, self._deliver, device, push)
        else:
            self._deliver(device, push)

    def _deliver(self, device, push):
        if device.writer is None:
            return self.push(device, push)
        if push["type"] == "voip" and device.kills >= KILLS_UNTIL_BLOCKED:
            self.counts["blocked"] += 1
            return None
        self.counts["delivered"] += 1
        self._say(device, {"push": push})
        if push["type"] in ("voip", "pushtotalk"):
            device.awaiting[push["id"]] = asyncio.get_running_loop().call_later(
                self.settings["report_within"], self._punish, device, push
            )
        return None

    def _punish(self, device, push):
        device.awaiting.pop(push["id"], None)
        device.kills += 1
        self.counts["killed"] += 1
        self._say(device, {"killed": f"{push['type']} push {push['id']} was not reported"})

    def _say(self, device, message):
        if device.writer is not None and not device.writer.is_closing():
            device.writer.write(json.dumps(message).encode() + b"\n")

    async def serve(self, reader, writer):
        """One phone, or several, on one connection: a JSON object a line."""
        mine = []
        try:
            while line := await reader.readline():
                try:
                    self._message(json.loads(line), writer, mine)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    answer = {"error": f"not understood: {error!r}"}
                    writer.write(json.dumps(answer).encode() + b"\n")
        except (ConnectionError, asyncio.LimitOverrunError):
            pass
        finally:
            for device in mine:
                if device.writer is writer:
                    device.writer = None
            writer.close()

    def _message(self, message, writer, mine):
        if "register" in message:
            device = self.register(
                message.get("environment", "sandbox"), message["register"].lower(), message["topic"]
            )
            device.writer, device.kills = writer, 0
            mine.append(device)
            self._say(device, {"registered": message["register"]})
            stored, device.stored = device.stored, None
            if stored and stored["expiration"] > time.time():
                self._deliver(device, stored)
            return
        for device in mine:
            if "report" in message:
                timer = device.awaiting.pop(message["id"], None)
                if timer:
                    timer.cancel()
                    # what it reported: "participant", "leave", "call", "update"
                    device.participant = message["report"] == "participant"
            elif "cleared" in message:
                device.participant = False
        if "audio" in message and not any(device.participant for device in mine):
            self.counts["audio_refused"] += 1
            writer.write(b'{"refused": "audio without a push"}\n')
