"""What `understudy doctor` finds out: `looking` asks the cluster once, one file a subject makes findings of that."""
