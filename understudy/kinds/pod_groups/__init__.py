"""Pod groups of other projects: which group a pod names, and what that group asks for."""
