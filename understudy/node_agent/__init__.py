"""The node agent: what a machine learns about its own end and its own GPUs, written on its Node."""
