"""What of the tables only their owner may do."""

# The tag of checks that ask what the role may do by which a process connects.
ROLE_CHECKS = "database_role"
