"""The doors to collections as OpenAI's vector stores: listed and searched."""
