// Tests of TalkDiscovery.
