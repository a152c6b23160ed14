"""Understudy keeps distributed training jobs running on shared accelerators."""

__version__ = "0.1.0"
