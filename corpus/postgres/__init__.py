"""Connections as the tables' owner, snapshots and the replica."""

# The tag of system checks about the privileges of the connecting role.
ROLE_CHECKS = "database_role"
