"""Embedded clusters of this machine: which there are, how they start, what users read about them."""
