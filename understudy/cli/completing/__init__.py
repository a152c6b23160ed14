"""Completion scripts: the tree of verbs as the parser knows it, into what each shell understands."""
