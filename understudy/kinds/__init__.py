"""What a job kind means: turns a job object and its observed pods into a Gang, and decides which children the job
needs."""
