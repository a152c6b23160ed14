"""Printers: what `kubectl get` shows of each kind."""
