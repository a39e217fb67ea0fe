// TalkKit
