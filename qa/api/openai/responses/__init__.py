"""The door to OpenAI's responses: what it takes, its reply whole or as events."""
