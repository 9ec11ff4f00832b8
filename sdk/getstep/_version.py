"""The version, for the package and for what the client tells the host."""

__version__ = "0.1.0"
