"""Objects come in: what is followed, what an object does to the view, and whether the view may be acted on."""
