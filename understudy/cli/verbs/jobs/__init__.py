"""Verbs about jobs and what they run on."""
