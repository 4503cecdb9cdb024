"""Who runs where, when and why: one pure decision over one picture of a pool of nodes."""
