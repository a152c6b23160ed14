"""What objects must be like beyond the types of their fields, and what the cluster adds to them."""
