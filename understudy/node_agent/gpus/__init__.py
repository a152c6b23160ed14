"""The health of NVIDIA GPUs, into conditions of the node."""
