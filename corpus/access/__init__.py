"""The acting user and their permissions."""
