"""How Haulage writes numbers for people: the one owner of sizes, rates, durations and counts."""
