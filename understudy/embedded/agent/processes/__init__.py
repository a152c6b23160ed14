"""Processes: the connection to the fork server, the watch on processes, and how they are killed for certain."""
