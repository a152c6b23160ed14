"""What a job kind means: turns a job object, and the pods observed of it, into a Gang; and makes its children."""
