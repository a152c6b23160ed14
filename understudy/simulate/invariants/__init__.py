"""What must always be true of a simulated cluster: at every step, of notices, and at rest."""
