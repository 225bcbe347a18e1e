"""What every run is asked: what failed, whether the machine was the limit, and the cards that all get."""
