"""The values of queries as lines for people and as figures for programs."""
