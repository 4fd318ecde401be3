"""Verification of answers: citations, support of claims by text, confidence. Pure."""
