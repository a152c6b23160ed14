"""The generic registry: create, get, list, update, patch and delete of objects of every kind."""
