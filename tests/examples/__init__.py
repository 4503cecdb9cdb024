"""Every example is run as its README says."""
