"""How many requests in flight are enough."""
