"""Network: an address for every pod, and the hosts files by which pods find each other."""
