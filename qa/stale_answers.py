"""Answers whose quotes a new version of a document does not contain any more."""

from collections.abc import Iterator
from typing import Any

from corpus.models import Document
from corpus.webhooks import WebhookEvent, tell
from qa.models import Answer, Citation


def tell_stale_answers(sender: Any, *, document: Document, text: str, **_: Any) -> None:
    """Queue webhooks for answers that become stale once ``text`` replaces a document's text."""
    tell(WebhookEvent.ANSWER_STALE, _becoming_stale(document, text))


def _becoming_stale(document: Document, text: str) -> Iterator[Answer]:
    """Yield answers to people; called only if a webhook wants to know."""
    cited = Citation.objects.filter(document=document, answer__in=Answer.objects.to_people())
    told = set()
    for citation in cited.compared().select_related("answer"):
        is_lost = text[citation.start_char : citation.end_char] != citation.quote
        is_standing = citation.standing == citation.quote  # type: ignore[attr-defined]
        if is_standing and is_lost and citation.answer_id not in told:
            told.add(citation.answer_id)
            yield citation.answer
