"""Who may do what: requests into attributes, roles into rules, and the decision that follows from both."""
