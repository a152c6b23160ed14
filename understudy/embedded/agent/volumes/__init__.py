"""Volumes as folders: empty ones, host paths, claims, projections and service account tokens."""
