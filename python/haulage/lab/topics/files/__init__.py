"""How fast a single file is."""
