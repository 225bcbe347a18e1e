"""Where the time went."""
