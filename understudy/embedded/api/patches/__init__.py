"""Patches: a document and a patch into a new document; the inputs are not changed."""
