"""Replays of spot churn: machines of an embedded cluster come and go as in a trace, under jobs that checkpoint."""
