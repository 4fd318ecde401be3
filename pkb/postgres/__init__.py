"""PostgreSQL: the embedded server, database engines, roles and grants."""

# Role that owns the tables, for migrations and indexes only.
OWNER = "pkb"
# Role of servers, workers and commands. It owns nothing, so injected SQL cannot drop the policies.
APPLICATION = "pkb_app"
