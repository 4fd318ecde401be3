"""Endpoints compatible with OpenAI (models, chat, embeddings) and Cohere (rerank)."""
