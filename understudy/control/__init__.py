"""The loops that are the same in every world: `scheduling` follows a cluster and carries plans out through ports."""
