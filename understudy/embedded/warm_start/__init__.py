"""Warm starts: how an understudy loads its program and waits, and how it is activated in a pod's place."""
