"""Kubernetes' protobuf encoding, read only: newer kubectl sends some bodies in it. Answers are always JSON."""
