"""What users touch: the client, the command line and the helper for jobs."""
