"""What `understudy plan` prints: objects into snapshots, what-if changes, plans as text."""
