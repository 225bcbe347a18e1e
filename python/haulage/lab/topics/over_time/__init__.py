"""Whether the path changed during the run."""
