"""Flags or a manifest of a job into objects on a cluster: one module a job kind, and what they share."""
