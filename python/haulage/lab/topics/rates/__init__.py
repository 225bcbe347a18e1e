"""How fast each treatment was."""
