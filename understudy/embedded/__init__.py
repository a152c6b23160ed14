"""A cluster of our own: a Kubernetes API on SQLite, and nodes that run pods as local processes."""
