"""A real cluster as the world: what Understudy needs of it, and how it runs there beside others."""
