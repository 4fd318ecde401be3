"""The embedded Postgres: its server, and Django's engine on it; and the roles that pkb has."""

# The owner of the tables: migrations and indexes are made by it, and nothing is served.
OWNER = "pkb"
# What serves, works and commands: it owns nothing, so that no policy of a table can be taken away
# by what it is made to say.
APPLICATION = "pkb_app"
