"""What is done in a job's pods beside the job: argv of every step, and the steps that run in our own image."""
