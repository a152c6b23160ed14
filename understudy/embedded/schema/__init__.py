"""What the kinds of the API look like, what they must be like, and what the cluster adds to them."""
