"""Endpoints that list and search collections as OpenAI's vector stores."""
