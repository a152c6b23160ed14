"""The operators of the job kinds as plain processes, one file each."""
