"""Backups, exports and restores of all stored data."""
