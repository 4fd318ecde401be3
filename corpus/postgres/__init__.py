"""What of the tables only their owner may do."""
