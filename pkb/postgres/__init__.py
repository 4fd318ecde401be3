"""The embedded Postgres: its server, and Django's engine on it."""
