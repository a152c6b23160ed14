"""One module for each verb: its flags and what it runs."""
