"""Azure Tables: plan keys from data, move rows, serve rows."""
