"""Plans into writes: the only part of the loop that changes the cluster."""
