"""What makes token vectors, and what it was given."""

from collections.abc import Sequence
from typing import Any

import pytest

from corpus.embedders.colbert import TokenEmbedder


@pytest.fixture(scope="module")
def embedder() -> TokenEmbedder:
    return TokenEmbedder(threads=1)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a model was given to make token vectors of."""
    texts: list[str] = []
    embed_texts = TokenEmbedder.embed_texts

    def noted(self: TokenEmbedder, given: Sequence[str]) -> Any:
        texts.extend(given)
        return embed_texts(self, given)

    monkeypatch.setattr(TokenEmbedder, "embed_texts", noted)
    return texts
