"""Background jobs: their kinds, items and runners."""
