"""The doors in the shapes of OpenAI (models, chat, embeddings) and of Cohere (rerank)."""
