"""Verbs about clusters of this machine and about settings."""
