"""The controller of TrainJob: the JobSet it wants, and its own status from that JobSet."""
