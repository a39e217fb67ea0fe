// TalkSim
