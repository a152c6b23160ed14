"""Places members of a gang: which nodes and domains are tried, in which order, under which conditions."""
