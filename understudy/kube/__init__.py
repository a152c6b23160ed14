"""The kube world: Understudy in a real cluster, as one of several replicas."""
