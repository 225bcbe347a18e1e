"""When a link collapsed, whose fault it was, and what was lost (E6)."""
