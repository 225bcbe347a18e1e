"""Values from bytes: the chunks or ranges that a slab needs, and nothing else."""
