"""What is found for the parts of one question is of one version of each document."""

from dataclasses import dataclass, field, replace

from qa.search.hybrid import RetrievedPassages, Retriever
from qa.types import Query


@dataclass(frozen=True, slots=True)
class SteadyVersions:
    """Retrieves, and leaves out what was replaced since it was found for a part before.

    Attributes:
        versions: The hash of each document that was found, by its id.
    """

    retriever: Retriever
    versions: dict[str, str] = field(default_factory=dict)

    def retrieve(self, query: Query, *, limit: int, mode: str = "hybrid") -> RetrievedPassages:
        found = self.retriever.retrieve(query, limit=limit, mode=mode)
        kept = [
            passage
            for passage in found.passages
            if self.versions.setdefault(passage.document_id, passage.content_sha256)
            == passage.content_sha256
        ]
        return replace(found, passages=kept)
