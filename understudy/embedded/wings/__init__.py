"""The wings: where understudies hold themselves ready, and what they are told when it is their turn."""
