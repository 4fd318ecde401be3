"""Django's database engine for a Postgres that a setting names."""
