"""How fast many nodes are together, and what limits them (E4)."""
