"""What is known of the cluster: gangs, nodes, leases, groups and budgets, from which snapshots are made."""
