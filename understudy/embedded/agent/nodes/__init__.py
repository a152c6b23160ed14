"""Nodes: their registration, leases, processes and failures."""
