"""What clouds announce about the end of machines, into the notice on the node."""
