"""The host's side of a getstep bot contest: the judge, the tournament and the store."""

__version__ = "0.1.0"
