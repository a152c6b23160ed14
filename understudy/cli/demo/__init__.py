"""The hot-swap demo: a dry run by the planner, or a scenario with real processes."""
