"""What controllers share: informers, work queues, the reconcile loop, restarts."""
