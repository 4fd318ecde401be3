"""Prove what is said: citations, support of claims by text, confidence. Pure."""
