"""One module a verb: its flags and what it runs."""
