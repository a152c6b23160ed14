"""What a cluster does by itself: makes the pods of jobs, clears away what nobody owns, keeps records true."""
