// Tests of TalkNet.
