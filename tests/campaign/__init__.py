"""Faults of a service of its own: killed, cut off, out of room, out of time, with broken models.

``scripts/faults`` runs round after round. What a round does, and when its fault comes, is drawn
from the round's seed; after it everything that was acknowledged must be there.
"""
