"""Controllers: each follows some objects and keeps what depends on them as it should be, through the API alone."""
