"""What a larger node gains (E2)."""
