"""The nouns: nodes, gangs, snapshots and plans, as immutable values that know nothing of where they came from."""
