"""Shims: one small process a container that owns it, writes its log and outlives whoever asked for it."""
