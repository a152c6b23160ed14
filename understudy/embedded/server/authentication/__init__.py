"""Who makes a request: bearer tokens and service account tokens."""
