"""The composition root."""

__version__ = "0.2.0"
