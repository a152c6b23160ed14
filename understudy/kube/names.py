"""What Understudy is called in a real cluster, by those who ask for it and by those who look for it."""

SCHEDULER = "understudy"  # the schedulerName of pods that are its own, unless it is told another
LEASE = "understudy"  # by which its replicas agree on who leads
