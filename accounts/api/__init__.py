"""The doors to the record and to grants."""
