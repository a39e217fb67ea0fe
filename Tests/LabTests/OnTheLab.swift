import Testing

/// Everything that runs on hosts of the lab: one after another, since what they measure is time.
@Suite(.serialized, .enabled(if: Requirements.isRoot, Requirements.needsRoot))
struct OnTheLab {}
