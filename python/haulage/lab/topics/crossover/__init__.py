"""From which size on another way is faster (E5)."""
