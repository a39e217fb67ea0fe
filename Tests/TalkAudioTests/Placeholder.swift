// Tests of TalkAudio.
