"""What the form of rows, one answer instead of pages, and a proxy change (E8)."""
