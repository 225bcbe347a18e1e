"""What more nodes would bring, and what explains the losses of 2010."""
