// Tests of TalkNode.
