"""The decision: `plan(snapshot, policy, now)` turns a cluster as it is into what should happen next. All of it pure."""
