"""Database engine for an external Postgres."""
