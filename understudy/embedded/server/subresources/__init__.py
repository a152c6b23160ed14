"""Sub-resources with a meaning of their own: binding, eviction, exec, log, token."""
