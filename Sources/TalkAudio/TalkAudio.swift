// TalkAudio
