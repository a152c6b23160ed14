"""Clusters on this machine: settings, nodes, credentials, the supervisor and its components, readiness."""
