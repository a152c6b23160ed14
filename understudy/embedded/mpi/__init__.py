"""`mpirun` for machines without MPI: starts one process for each slot of each worker, through the agent's socket."""
