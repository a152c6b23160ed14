"""Who the client is to a server: one file a way of getting credentials."""
