"""Django project: settings, HTTP layer, database, backups and commands."""

__version__ = "0.2.0"
