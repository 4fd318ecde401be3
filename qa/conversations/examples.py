"""Questions that the documents themselves raise, for who does not know what to ask."""

from collections.abc import Iterator

from corpus.models import Chunk, Collection, Document
from qa.models import Answer
from qa.questions import is_follow_up, split_question, telling_words

# What is looked at: the newest documents and, of each, the first chunks.
MOST_DOCUMENTS = 20
MOST_CHUNKS = 40
# Tokens of a chunk from which on something stands below its heading.
LEAST_TOKENS = 25
LEAST_WORDS, MOST_WORDS = 4, 16


def suggest_questions(collection: Collection, *, count: int) -> list[str]:
    """Return at most ``count`` questions that the collection should answer.

    They are headings that ask something, of different documents first; then requests for what a
    document is about, by its title. None that was asked before and not answered is among them.
    No model runs: the newest 20 documents are looked at, and 40 chunks of each.
    """
    documents = list(
        Document.objects.listed()
        .filter(collection=collection, chunk_count__gt=0)
        .order_by("-ingested_at", "pk")[:MOST_DOCUMENTS]
    )
    candidates = list(dict.fromkeys([*_take_turns(documents), *_about(documents)]))
    asked = Answer.objects.filter(collection=collection, question__in=candidates)
    refused = set(asked.exclude(kind=Answer.Kind.ANSWER).values_list("question", flat=True))
    return [question for question in candidates if question not in refused][:count]


def _take_turns(documents: list[Document]) -> list[str]:
    """The headings that ask something: the first of each document, then the second, and so on."""
    rows = Chunk.objects.filter(
        document__in=documents, ordinal__lt=MOST_CHUNKS, token_count__gte=LEAST_TOKENS
    ).exclude(heading_path=[])
    found: dict[object, list[str]] = {document.pk: [] for document in documents}
    for key, path in rows.order_by("document", "ordinal").values_list("document", "heading_path"):
        if _can_stand_alone(path[-1]) and path[-1] not in found[key]:
            found[key].append(path[-1])
    places = range(max(map(len, found.values()), default=0))
    return [asked[place] for place in places for asked in found.values() if place < len(asked)]


def _can_stand_alone(heading: str) -> bool:
    is_short = LEAST_WORDS <= len(heading.split()) <= MOST_WORDS
    return (
        is_short and heading.endswith("?") and not is_follow_up(heading)
        and not split_question(heading)
    )  # fmt: skip


def _about(documents: list[Document]) -> Iterator[str]:
    for document in documents:
        title = " ".join(document.title.split()).rstrip(".")
        if telling_words(title) and len(title.split()) < MOST_WORDS and not title.endswith("?"):
            yield f"What is {title} about?"
