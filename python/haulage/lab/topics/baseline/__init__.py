"""Which treatments differ from the baseline, and by how much."""
