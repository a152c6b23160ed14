"""Measures hot swaps: nodes of an embedded cluster die under running gangs, and the way back is timed from outside."""
