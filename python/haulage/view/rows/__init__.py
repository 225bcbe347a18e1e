"""Rows of a table as a map: on a grid if their places make one, else as points."""
