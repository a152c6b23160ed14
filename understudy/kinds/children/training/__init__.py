"""The controller that all kinds of the training operator share."""
