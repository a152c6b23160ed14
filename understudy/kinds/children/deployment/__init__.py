"""Deployments: from their ReplicaSets to what is to be done next."""
