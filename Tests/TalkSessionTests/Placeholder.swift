// Tests of TalkSession.
