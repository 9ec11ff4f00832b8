"""Sample bots: each a few lines around get_step, to read, to copy and to play against."""
