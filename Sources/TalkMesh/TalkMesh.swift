// TalkMesh
