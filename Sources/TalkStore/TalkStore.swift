// TalkStore
