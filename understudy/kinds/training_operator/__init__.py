"""The kinds of the training operator, a file each, and what they share."""
