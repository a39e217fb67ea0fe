// Tests of TalkCrypto.
