"""Database engine for the embedded Postgres, which the first connection starts."""
