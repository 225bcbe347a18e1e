"""What all commands in Python share with those in Rust: words for mistakes, options, how they end."""
