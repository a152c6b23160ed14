"""Single invariants that need a memory of their own. `invariants.py` calls them after every step."""
