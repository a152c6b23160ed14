"""The loops that are the same in every world: `loop` follows a cluster and applies plans through ports."""
