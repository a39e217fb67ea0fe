// Tests of TalkFloor.
