"""CronJobs: from a schedule and the time to Jobs."""
