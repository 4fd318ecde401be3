"""Endpoint compatible with OpenAI's responses API."""
