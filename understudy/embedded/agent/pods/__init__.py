"""Pods: one worker a pod decides what its containers do next, carries it out and reports the status."""
