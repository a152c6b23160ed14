"""Defaults and checks of built-in kinds, as Kubernetes has them."""
