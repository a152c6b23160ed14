"""The controller of MPIJob in its three versions: its launcher and its workers."""
