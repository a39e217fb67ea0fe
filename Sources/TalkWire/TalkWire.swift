// TalkWire
