"""Check whether a text or a collection supports a claim, and with which words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from corpus.errors import InvalidInput
from corpus.sentences import sentence_spans
from qa.concurrency import answering_slot
from qa.context import QAContext
from qa.grounding.support import Verdict, judge_claim
from qa.search.display import add_quote_pages
from qa.types import Citation, Passage, Query

# Each sentence of a claim is searched and judged separately.
MAX_CLAIM_CHARS = 2_000
MAX_SENTENCES = 40
# "[1]", "[2][3]", "[4, 5]": citations, not part of the claim.
_CITATION_MARK = re.compile(r"\[\d{1,3}(?:[,;\u2013-] ?\d{1,3}){0,20}\]")
# Best passages of a collection whose sentences a claim is checked against.
PASSAGE_COUNT = 5

# A sentence of a passage: its half-open span in the passage's text.
Source = tuple[Passage, int, int]

# A claim is as weak as its weakest sentence.
_WEAKEST_FIRST: tuple[Verdict, ...] = ("contradicted", "unsupported", "partial", "supported")


@dataclass(frozen=True, slots=True)
class VerifiedClaim:
    """The result for a claim.

    Attributes:
        support: The weakest verdict of its sentences; ``contradicted`` is the weakest of all.
        score: The lowest support of its sentences, in [0, 1]; from ``PARTIAL_FROM`` on, the claim
            counts as supported.
        citations: The sentence that supports or contradicts each sentence of the claim, whose span
            in the claim is ``answer_start:answer_end``.
    """

    support: Verdict
    score: float
    citations: tuple[Citation, ...]


def verify_claim(
    claim: str,
    *,
    text: str | None = None,
    collection: str,
    tags: Sequence[str] = (),
    context: QAContext,
) -> VerifiedClaim:
    """Check each sentence of a claim against ``text``, or if that is None the collection.

    Citation marks such as ``[1]`` are ignored.

    Raises:
        InvalidInput: The claim or the text is empty, or the claim too long.
        CollectionNotFound: There is no collection of this name.
        BackendError: A model failed.
    """
    plain = _CITATION_MARK.sub(lambda mark: " " * len(mark[0]), claim)  # places stay as they are
    spans = sentence_spans(plain)
    if not spans or len(claim) > MAX_CLAIM_CHARS or len(spans) > MAX_SENTENCES:
        raise InvalidInput(
            f"Must have 1 to {MAX_CLAIM_CHARS} characters and at most {MAX_SENTENCES} sentences.",
            field="claim",
        )
    if text is not None and not text.strip():
        raise InvalidInput("The text to check the claim against is empty.", field="text")
    selected = [] if text is None else _split([passage_of_text(text)])
    verified = []
    # Judging uses all cores, like answering.
    with answering_slot():
        for start, end in spans:
            query = Query(plain[start:end], collection=collection, tags=tuple(tags))
            sources = selected
            if text is None:
                passages = context.retrieve(query, limit=context.rerank_count).passages
                sources = _split(context.rerank(query.text, passages, limit=PASSAGE_COUNT))
            texts = [passage.text[first:last] for passage, first, last in sources]
            headings = {
                line for passage, _, _ in sources for line in (passage.title, *passage.heading_path)
            }
            judged = judge_claim(
                query.text, texts, score=context.verifier.judge.score, headings=sorted(headings)
            )
            citation: Citation | None = None
            if judged.verdict != "unsupported":
                passage, first, last = sources[judged.index]
                citation = Citation(
                    passage=replace(passage, score=judged.score),
                    quote=texts[judged.index],
                    start_char=passage.start_char + first,
                    end_char=passage.start_char + last,
                    answer_start=start,
                    answer_end=end,
                    score=judged.score,
                    support=judged.verdict,
                )
            verified.append((judged, citation))
    return VerifiedClaim(
        support=min((judged.verdict for judged, _ in verified), key=_WEAKEST_FIRST.index),
        score=min(judged.score for judged, _ in verified),
        citations=tuple(add_quote_pages(citation for _, citation in verified if citation)),
    )


def passage_of_text(text: str) -> Passage:
    """Return a text as a passage without ids."""
    return Passage(
        chunk_id="",
        document_id="",
        content_sha256=sha256(text.encode()).hexdigest(),
        title="",
        source_uri="",
        heading_path=(),
        page=None,
        text=text,
        start_char=0,
        end_char=len(text),
        is_selected=True,
    )


def _split(passages: Sequence[Passage]) -> list[Source]:
    return [(p, start, end) for p in passages for start, end in sentence_spans(p.text)]
