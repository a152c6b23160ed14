"""The controller of batch/v1 Job: creates its pods, and counts each of them once."""
