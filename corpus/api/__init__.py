"""Endpoints of the corpus: parse, call, render; one module for each resource."""
