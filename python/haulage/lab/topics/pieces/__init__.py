"""Whether pieces of a file are faster than whole files (E3)."""
