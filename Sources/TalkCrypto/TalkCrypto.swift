// TalkCrypto
