"""The controller of JobSet: the Jobs it wants, attempt by attempt."""
