"""Shims: one small process for each container, which starts it, writes its log, and outlives the agent."""
