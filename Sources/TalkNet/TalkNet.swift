// TalkNet
