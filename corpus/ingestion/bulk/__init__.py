"""Ingest folders in two steps, `load` and `embed`, with a file of chunks between them."""
