"""The controllers of the job kinds, for clusters where no operator runs: which children each object wants."""
