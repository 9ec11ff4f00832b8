"""The version, for the package and for the client's name in its login."""

__version__ = "0.1.0"
