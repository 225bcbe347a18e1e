"""Which nodes are late, at what cost, and whether the node, its path or the service is slow."""
