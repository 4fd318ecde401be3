"""Taking folders in by two steps, `load` and `embed`, with a file of chunks between."""
