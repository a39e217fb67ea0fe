// Tests of TalkStore.
