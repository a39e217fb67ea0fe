// TalkVoice
