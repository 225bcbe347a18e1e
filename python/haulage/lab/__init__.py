"""The laboratory: plans, runs, and what they say."""
