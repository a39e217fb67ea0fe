// TalkNode
