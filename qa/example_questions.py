"""Suggest questions that the documents answer."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from django.db.models import Q

from corpus.ingestion.normal_form import Outline
from corpus.models import Collection, Document
from qa.intent import distinctive_words, is_follow_up, split_question
from qa.models import Answer

# Limits: the newest documents, and the first headings of each.
MAX_DOCUMENTS = 20
MAX_HEADINGS = 200
# Fewest characters below a heading for it to have content.
MIN_CHARS = 60
MIN_WORDS, MAX_WORDS = 4, 16


def suggest_questions(collections: Sequence[Collection], *, count: int) -> list[str]:
    """Return at most ``count`` questions that the collections should answer.

    They are question headings, alternating between documents, then "What is TITLE about?". Those
    that were asked before without an answer are left out. No model runs: only the outlines of the
    newest 20 documents are read.
    """
    newest = Document.objects.filter(collection__in=collections, chunk_count__gt=0)
    rows = newest.order_by("-ingested_at", "pk").with_outline()
    documents = list(rows[:MAX_DOCUMENTS])
    turns = zip_longest(*map(_asked_in, documents))
    headings = [heading for turn in turns for heading in turn if heading is not None]
    titles = [" ".join(document.title.split()).rstrip(".") for document in documents]
    about = [
        f"What is {title} about?"
        for title in titles
        if distinctive_words(title) and len(title.split()) < MAX_WORDS and not title.endswith("?")
    ]
    candidates = list(dict.fromkeys([*headings, *about]))
    asked = Q(collection__in=collections) | Q(collection=None)
    answers = Answer.objects.filter(asked, question__in=candidates)
    refused = set(answers.exclude(kind=Answer.Kind.ANSWER).values_list("question", flat=True))
    return [question for question in candidates if question not in refused][:count]


def _asked_in(document: Document) -> Iterator[str]:
    outline = Outline.from_json(document.content.outline)
    ends = [heading.start for heading in outline.headings[1:]] + [document.char_count]
    char_counts = {
        (heading.start, heading.text): end - heading.end
        for heading, end in zip(outline.headings, ends, strict=False)
    }
    # A question is a heading and the label of its answer, which may end before the next heading.
    char_counts |= {
        (label.start, label.text): label.end - label.start - len(label.text)
        for label in outline.labels
    }
    for (_, text), char_count in sorted(char_counts.items())[:MAX_HEADINGS]:
        question = as_question(text)
        if question and char_count >= MIN_CHARS:
            yield question


_NUMBER = re.compile(r"(?<![\w.])(?:\(\w{1,3}\)|[^\W\d]{0,2}\d++(?:\.\d++)*+[.):]*+)\s+")
_ASKS = re.compile(
    r"(?:how|what|when|where|which|who|whose|why|can|could|do|does|did|is|are|was|were|has|have"
    r"|should|will|would|may|must)\b",
    re.IGNORECASE,
)


def as_question(heading: str) -> str:
    """Return a heading without its number if it is a self-contained question, else ""."""
    numbered = _NUMBER.match(heading)
    question = heading[numbered.end() :] if numbered else heading
    is_short = MIN_WORDS <= len(question.split()) <= MAX_WORDS
    asks = is_short and question.endswith("?") and _ASKS.match(question)
    return question if asks and not is_follow_up(question) and not split_question(question) else ""
