"""Understudy and kube-scheduler side by side on one real control plane: the same nodes, gangs and disturbances."""
