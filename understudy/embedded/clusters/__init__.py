"""Clusters on this machine: what they consist of, who may talk to them, and the processes that keep them running."""
