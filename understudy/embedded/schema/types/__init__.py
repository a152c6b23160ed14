"""The fields of every built-in kind of Kubernetes 1.33, as structs."""
