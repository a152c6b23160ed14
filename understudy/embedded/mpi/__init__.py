"""`mpirun` for machines without MPI: starts a process a slot in each worker of a job, through the agent's door."""
