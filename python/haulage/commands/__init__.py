"""What all commands in Python share: how they run and end, what they say, and options of stores."""
