"""What the agent reads from the Kubernetes API and writes to it: pods as typed values, ConfigMaps, Secrets, events."""
