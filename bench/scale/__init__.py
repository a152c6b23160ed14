"""Times the start of a scheduler on a large cluster, from recorded lists over HTTP, and what its events cost."""
