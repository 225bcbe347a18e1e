"""Tables of the cloud: keys planned from data, rows moved, rows served."""
