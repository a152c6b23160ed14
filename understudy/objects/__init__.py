"""Kubernetes objects: typed structs of the fields that scheduling reads, and their decoding."""
