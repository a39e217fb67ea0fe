"""What all connections share: settings, counters, devices, faults; and the commands."""
import json
import time

import devices
import faults
import rules
import tokens

HELP = {
    "stats": "counters, violations and refusals since the start or the last reset",
    "ids": "every apns-id that was taken, with how often; when requests came (boot time, ns)",
    "reset": "forget counters, faults, settings and known provider tokens",
    "register": "tokens (hex), topic, environment: devices without a listener",
    "unregister": "token, environment, timestamp (ms), reason (Unregistered, ExpiredToken)",
    "fault": "kind, after, count, environment, token, and what the kind takes",
    "set": "streams, hold, goaway_every, date_offset, clock_offset (s), rate (a device's pushes/s)",
    "bus": "delay (s), lose, reorder (0 to 1), report_within (s)",
    "goaway": "all connections: keep (streams; none: all), reason, twice",
    "release": "answer what is held",
    "swallow": "all connections go silent",
    "close": "all connections break",
    "help": "this list",
}
SETTINGS = {
    "streams": 1000, "hold": False, "goaway_every": 0, "date_offset": 0.0, "clock_offset": 0.0,
    "rate": 0, "any_device": False,
}


class Service:
    def __init__(self, bundle, verifier):
        self.bundle, self.verifier = bundle, verifier
        self.devices = devices.Devices()
        self.faults = faults.Faults()
        self.connections = set()
        self.reset()

    def reset(self):
        self.settings = dict(SETTINGS)
        self.counters, self.refusals, self.violations = {}, {}, []
        self.ids, self.first, self.last, self.most_open = {}, None, None, 0
        self.recent, self.arrivals = {}, []
        self.faults.clear()
        self.verifier.reset()

    # --- for connections ---

    def now(self):
        return time.time() + self.settings["clock_offset"]

    def count(self, name, environment):
        self.counters[name] = self.counters.get(name, 0) + 1
        key = f"{environment}.{name}"
        self.counters[key] = self.counters.get(key, 0) + 1

    def violation(self, text):
        self.violations.append(text)

    def seen_open(self, environment, streams):
        self.most_open = max(self.most_open, streams)

    def processed(self, environment, identifier, token):
        now = time.monotonic()
        self.first = now if self.first is None else self.first
        self.last = now
        self.ids[identifier] = self.ids.get(identifier, 0) + 1
        self.count("taken", environment)

    def limit(self, environment, token, now):
        rate = self.settings["rate"]
        if rate:
            times = [at for at in self.recent.get(token, []) if now - at < 1] + [now]
            self.recent[token] = times
            if len(times) > rate:
                raise rules.Bad(429, "TooManyRequests")

    def device(self, environment, token, topic):
        found = self.devices.find(environment, token)
        if found is None:
            if self.settings["any_device"]:
                return self.devices.register(environment, token, topic)
            raise rules.Bad(400, "BadDeviceToken")
        if found.topic != topic:
            raise rules.Bad(400, "DeviceTokenNotForTopic")
        if found.gone_at is not None:
            bad = rules.Bad(410, found.gone_reason)
            bad.extra = {"timestamp": found.gone_at}
            raise bad
        return found

    # --- commands ---

    def command(self, message):
        """Does one command; returns what to answer."""
        name = message.get("do")
        if name not in HELP:
            raise ValueError(f"no command {name!r}; there are {', '.join(HELP)}")
        return getattr(self, "do_" + name)(message) or {"ok": True}

    def do_help(self, message):
        return {"commands": HELP, "faults": faults.Fault.KINDS}

    def do_stats(self, message):
        span = 0 if self.first is None else self.last - self.first
        return {
            "counters": self.counters, "refusals": self.refusals, "violations": self.violations,
            "ids": len(self.ids), "doubled": sum(1 for n in self.ids.values() if n > 1),
            "span_ms": span * 1000, "tokens": len(self.verifier.updates),
            "issued": self.verifier.updates, "most_open": self.most_open,
            "open": len(self.connections), "held": sum(len(c.held) for c in self.connections),
            "bus": self.devices.counts,
        }

    def do_ids(self, message):
        return {"ids": self.ids, "arrivals": self.arrivals}

    def do_reset(self, message):
        self.reset()

    def do_register(self, message):
        for token in message["tokens"]:
            self.devices.register(
                message.get("environment", "sandbox"), token.lower(), message["topic"]
            )

    def do_unregister(self, message):
        self.devices.unregister(
            message.get("environment", "sandbox"), message["token"].lower(),
            int(message["timestamp"]), message.get("reason", "Unregistered"),
        )

    def do_fault(self, message):
        self.faults.add(message)

    def do_set(self, message):
        for key, value in message.items():
            if key == "do":
                continue
            if key not in SETTINGS:
                raise ValueError(f"no setting {key!r}; there are {', '.join(SETTINGS)}")
            self.settings[key] = type(SETTINGS[key])(value)

    def do_bus(self, message):
        for key, value in message.items():
            if key == "do":
                continue
            if key not in self.devices.settings:
                raise ValueError(f"no setting {key!r} of the bus")
            self.devices.settings[key] = float(value)

    def do_goaway(self, message):
        for connection in list(self.connections):
            connection.goaway_now(
                message.get("keep"), message.get("reason", "Shutdown"), message.get("twice")
            )

    def do_release(self, message):
        self.settings["hold"] = False
        for connection in list(self.connections):
            connection.release()

    def do_swallow(self, message):
        for connection in list(self.connections):
            connection.silent = True

    def do_close(self, message):
        for connection in list(self.connections):
            connection.transport.abort()

    async def control(self, reader, writer):
        """The command port: a JSON object a line, answered by one."""
        try:
            while line := await reader.readline():
                try:
                    answer = self.command(json.loads(line))
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    answer = {"error": f"{type(error).__name__}: {error}"}
                writer.write(json.dumps(answer).encode() + b"\n")
                await writer.drain()
        except (ConnectionError, ValueError):
            pass
        finally:
            writer.close()
