"""The kube world: Understudy beside the other controllers of a real cluster, as one of several replicas."""
