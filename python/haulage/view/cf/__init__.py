"""What the conventions (CF) say of variables: axes, times, horizontal grids."""
