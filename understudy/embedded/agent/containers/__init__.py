"""Containers: what one needs to start, what is known of it while it runs, and its probes."""
