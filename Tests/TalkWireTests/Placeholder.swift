// Tests of TalkWire.
