// Tests of TalkMesh.
