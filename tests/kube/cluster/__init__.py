"""A real Kubernetes control plane on loopback, with KWOK for nodes and the job kinds' operators, as plain processes."""
