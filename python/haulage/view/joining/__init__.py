"""Many files as one: a time series over files that belong together, by their names and their times."""
