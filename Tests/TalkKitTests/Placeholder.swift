// Tests of TalkKit.
