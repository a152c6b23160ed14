"""Where the embedded cluster keeps its objects: memory in front, a SQLite log behind, watches on top."""
