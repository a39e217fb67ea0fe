// TalkDiscovery
