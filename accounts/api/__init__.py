"""The doors to the record, to grants, and for agents that seek a token."""
