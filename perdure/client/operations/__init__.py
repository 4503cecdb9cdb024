"""What can be asked of the API: one function per operation, which returns the request as data."""
