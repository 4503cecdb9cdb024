"""Who may ask: the HTTP interface of the control plane."""
