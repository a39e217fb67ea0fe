"""One HTTP/2 connection of a provider (RFC 9113), by the library h2."""
import asyncio
import email.utils
import json
import random
import time

import h2.config
import h2.connection
import h2.errors
import h2.events
import h2.exceptions
import h2.settings
from hyperframe.frame import GoAwayFrame

import rules
import tokens

ENDLESS = 2**31 - 1


class Connection(asyncio.Protocol):
    """Checks what comes, answers, and misbehaves when the service is told to."""

    def __init__(self, service, environment):
        self.service, self.environment = service, environment
        config = h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        self.h2 = h2.connection.H2Connection(config=config)
        self.transport = None
        self.bodies, self.headers = {}, {}
        self.held = {}
        self.silent = False
        self.refuse_above = ENDLESS
        self.requests = 0
        self.trusted = False
        self.certificate = False

    # --- the transport ---

    def connection_made(self, transport):
        self.transport = transport
        tls = transport.get_extra_info("ssl_object")
        if tls.selected_alpn_protocol() != "h2":
            self.service.violation("a connection without ALPN h2")
            transport.abort()
            return
        self.certificate = bool(tls.getpeercert())
        self.service.connections.add(self)
        self.service.count("handshakes", self.environment)
        if tls.session_reused:
            self.service.count("resumed", self.environment)
        self.h2.local_settings[h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS] = 1
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(2**24)
        self.flush()

    def connection_lost(self, error):
        self.service.connections.discard(self)
        self.service.count("closed", self.environment)

    def data_received(self, data):
        if self.silent or self.transport.is_closing():
            return
        try:
            events = self.h2.receive_data(data)
        except h2.exceptions.ProtocolError as error:
            self.service.violation(f"protocol: {error}")
            self.flush()
            self.transport.close()
            return
        for event in events:
            self.handle(event)
        self.flush()

    def flush(self):
        data = self.h2.data_to_send()
        if data and not self.silent and not self.transport.is_closing():
            self.transport.write(data)

    # --- requests ---

    def handle(self, event):
        if isinstance(event, h2.events.RequestReceived):
            self.service.arrivals.append(time.clock_gettime_ns(time.CLOCK_BOOTTIME))
            self.headers[event.stream_id] = event.headers
            self.bodies[event.stream_id] = b""
            self.service.seen_open(self.environment, len(self.headers) + len(self.held))
        elif isinstance(event, h2.events.DataReceived):
            if event.stream_id in self.bodies:
                self.bodies[event.stream_id] += event.data
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            headers = self.headers.pop(event.stream_id, None)
            body = self.bodies.pop(event.stream_id, b"")
            if headers is not None and event.stream_id <= self.refuse_above:
                self.request(event.stream_id, headers, body)
        elif isinstance(event, h2.events.StreamReset):
            self.service.count("cancelled", self.environment)
            for table in (self.headers, self.bodies, self.held):
                table.pop(event.stream_id, None)
        elif isinstance(event, h2.events.PingReceived):
            self.service.count("pings", self.environment)
        elif isinstance(event, h2.events.ConnectionTerminated):
            self.transport.close()

    def request(self, stream, headers, body):
        service = self.service
        self.requests += 1
        service.count("requests", self.environment)
        token = dict(headers).get(":path", "")[len("/3/device/"):].lower()
        if service.settings["hold"]:
            self.held[stream] = (headers, body)
            return
        fault = service.faults.next(self.environment, token)
        if fault is None:
            self.process(stream, headers, body)
        else:
            self.misbehave(fault, stream, headers, body)
        every = service.settings["goaway_every"]
        if every and self.requests % every == 0 and self.refuse_above == ENDLESS:
            self.goaway(stream, "Shutdown")

    def release(self):
        held, self.held = self.held, {}
        for stream, (headers, body) in held.items():
            self.process(stream, headers, body)
        self.flush()

    def process(self, stream, headers, body):
        service, now = self.service, time.time()
        status, reason, extra, identifier = 200, None, {}, None
        try:
            fields = rules.fields(headers)
            identifier = fields.get("apns-id")
            token = rules.device(fields)
            if not (self.certificate and "authorization" not in fields):
                service.verifier.check(fields.get("authorization"), service.now())
            self.trust()
            kind, topic = rules.check(fields, body, service.bundle)
            service.limit(self.environment, token, now)
            device = service.device(self.environment, token, topic)
        except (rules.Bad, tokens.Refused) as bad:
            status, reason = bad.status, bad.reason
            extra = getattr(bad, "extra", {})
            service.refusals[reason] = service.refusals.get(reason, 0) + 1
        else:
            service.processed(self.environment, identifier, token)
            service.devices.push(
                device,
                {
                    "id": identifier or "", "type": kind, "topic": topic, "token": token,
                    "priority": int(fields.get("apns-priority", "10")),
                    "expiration": int(fields.get("apns-expiration", "0")),
                    "collapse": fields.get("apns-collapse-id"), "at": now,
                    "payload": json.loads(body),
                },
            )
        self.answer(stream, status, reason, identifier, extra)

    def trust(self):
        """One stream until a request came with a valid token, then what the settings say."""
        if not self.trusted:
            self.trusted = True
            code = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS
            self.h2.update_settings({code: self.service.settings["streams"]})

    def answer(self, stream, status, reason=None, identifier=None, extra=None):
        headers = [(":status", str(status))]
        if identifier:
            headers.append(("apns-id", identifier))
        when = time.time() + self.service.settings["date_offset"]
        headers.append(("date", email.utils.formatdate(when, usegmt=True)))
        extra = dict(extra or {})
        headers += [(name, str(value)) for name, value in extra.pop("headers", {}).items()]
        body = json.dumps({"reason": reason, **extra}).encode() if reason else b""
        if isinstance(extra.get("raw"), str):
            body = extra["raw"].encode("latin-1", "replace")
        try:
            self.h2.send_headers(stream, headers, end_stream=not body)
            if body:
                self.h2.send_data(stream, body, end_stream=True)
        except h2.exceptions.ProtocolError:
            self.service.count("too_late", self.environment)

    # --- misbehaviour ---

    def misbehave(self, fault, stream, headers, body):
        message, kind = fault.message, fault.kind
        self.service.count("faults", self.environment)
        if kind == "answer":
            extra = {key: message[key] for key in ("timestamp", "headers", "raw") if key in message}
            identifier = dict(headers).get("apns-id")
            self.trust()
            self.answer(stream, int(message["status"]), message.get("reason"), identifier, extra)
        elif kind == "slow":
            asyncio.get_running_loop().call_later(
                float(message["ms"]) / 1000, self.late, stream, headers, body
            )
        elif kind == "refuse":
            self.h2.reset_stream(stream, h2.errors.ErrorCodes.REFUSED_STREAM)
        elif kind == "reset":
            self.h2.reset_stream(stream, int(message.get("code", 2)))
        elif kind == "swallow":
            self.silent = True
        elif kind == "close":
            self.transport.abort()
        elif kind == "garbage":
            noise = random.Random(int(message.get("seed", 1)))
            if not self.transport.is_closing():
                self.transport.write(noise.randbytes(int(message.get("bytes", 200))))
        elif kind == "goaway":
            self.process(stream, headers, body)
            self.goaway(stream, message.get("reason", "Shutdown"), message.get("twice"))

    def late(self, stream, headers, body):
        if not self.transport.is_closing():
            self.process(stream, headers, body)
            self.flush()

    def goaway(self, last, reason, twice=False):
        """Takes no stream after `last`: what comes on one is never processed."""
        self.flush()
        self.refuse_above = last
        debug = json.dumps({"reason": reason}).encode()
        ids = ([ENDLESS] if twice else []) + [last]
        for identifier in ids:
            frame = GoAwayFrame(0, last_stream_id=identifier, error_code=0, additional_data=debug)
            if not self.silent and not self.transport.is_closing():
                self.transport.write(frame.serialize())
        self.service.count("goaways", self.environment)

    def goaway_now(self, keep, reason, twice):
        """GOAWAY that keeps the first `keep` of the streams that are open (None: all)."""
        streams = sorted(self.held)
        kept = streams if keep is None else streams[:keep]
        last = kept[-1] if kept else 0
        if not streams:
            last = self.h2.highest_inbound_stream_id
        self.goaway(last, reason, twice)
        for stream in streams:
            headers, body = self.held.pop(stream)
            if stream in kept:
                self.process(stream, headers, body)
        self.flush()
