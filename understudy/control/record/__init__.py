"""What happened, for people and for later plans: incidents, events, failures and the history of nodes."""
