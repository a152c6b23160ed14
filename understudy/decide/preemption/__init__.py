"""Chooses victims: the cheapest gangs whose preemption makes room for a more important one."""
