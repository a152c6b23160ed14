"""The controller of batch/v1 Job: the pods it wants, each put on record once."""
