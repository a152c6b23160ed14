"""The names and paths that an MPIJob's controller and the `mpirun` of the embedded cluster share."""

CONFIG_FOLDER = "/etc/mpi"  # where a launcher finds its hosts and its remote shell
HOST_FILE = f"{CONFIG_FOLDER}/hostfile"
REMOTE_SHELL = "understudy-rsh"  # a program on every PATH: runs a command in the pod of a host's name
DRAIN = "understudy-mpi-drain"  # another: has mpirun, and what it started, end in its container, and waits for it

# How mpirun ends when a worker was taken from under its processes. That is the cluster's fault, so that it costs the
# job none of its retries.
LOST_WORKER = 219
