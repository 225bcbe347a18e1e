"""How Haulage writes for people: numbers with their units, and text of others, without what is secret."""
