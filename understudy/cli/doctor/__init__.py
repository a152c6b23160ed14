"""What `understudy doctor` collects from a cluster, and the checks that turn it into findings."""
