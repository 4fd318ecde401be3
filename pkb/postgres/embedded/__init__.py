"""Django's database engine for the embedded Postgres: started by whoever connects first."""
