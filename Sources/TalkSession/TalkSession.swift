// TalkSession
