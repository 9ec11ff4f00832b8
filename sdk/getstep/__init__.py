"""Play in a getstep bot contest."""

__version__ = "0.1.0"
