"""What the service is told to do wrong, and when."""


class Fault:
    """Skips `after` requests that match, then strikes `count` times."""

    KINDS = {
        "answer": "status, reason, timestamp (ms), headers: answers so",
        "hang": "never answers the request",
        "slow": "ms: answers later",
        "refuse": "RST_STREAM REFUSED_STREAM",
        "reset": "code: RST_STREAM",
        "swallow": "the whole connection goes silent, open",
        "close": "the whole connection breaks, unanswered",
        "garbage": "seed: the connection carries noise",
        "goaway": "last (streams kept), reason, twice: GOAWAY",
    }

    def __init__(self, message):
        self.kind = message["kind"]
        if self.kind not in self.KINDS:
            raise ValueError(f"no fault {self.kind!r}; there are {', '.join(self.KINDS)}")
        if self.kind == "answer":
            int(message["status"])
        self.message = message
        self.after = int(message.get("after", 0))
        self.count = int(message.get("count", 1))

    def strikes(self, environment, token):
        for name, value in (("environment", environment), ("token", token)):
            if self.message.get(name, value) != value:
                return False
        if self.after > 0:
            self.after -= 1
            return False
        if self.count <= 0:
            return False
        self.count -= 1
        return True


class Faults:
    """All of them; the first that matches strikes."""

    def __init__(self):
        self.waiting = []

    def add(self, message):
        self.waiting.append(Fault(message))

    def clear(self):
        self.waiting = []

    def next(self, environment, token):
        for fault in self.waiting:
            if fault.strikes(environment, token):
                self.waiting = [each for each in self.waiting if each.count > 0]
                return fault
        return None
