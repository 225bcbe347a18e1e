"""What a request spends its time on."""
