"""Sample bots to read, copy and play against. Each is a few lines around `get_step`."""
