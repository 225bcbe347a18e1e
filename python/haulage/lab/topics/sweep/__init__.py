"""Which block size is best for which file (E1)."""
