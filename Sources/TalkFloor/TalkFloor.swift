// TalkFloor
