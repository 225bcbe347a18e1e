"""Objects of a container or a folder, by ranges: what each costs, and what is kept of them."""
