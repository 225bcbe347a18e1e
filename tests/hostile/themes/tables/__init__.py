"""Ways in which a Table service is hostile."""
