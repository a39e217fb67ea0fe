// Tests of TalkVoice.
