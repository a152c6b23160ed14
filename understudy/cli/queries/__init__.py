"""What verbs ask a cluster: jobs, pods, nodes, events, incidents, spares, as plain values."""
