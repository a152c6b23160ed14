"""Measures the embedded cluster: its API server, its agent, and a whole cluster from start to end."""
