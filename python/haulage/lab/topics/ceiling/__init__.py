"""What the path carries at most, and how much of it was used."""
