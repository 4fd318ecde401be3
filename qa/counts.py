"""Answer how many documents mention a phrase: counted in their texts, each document quoted."""

from dataclasses import replace
from typing import Any

from corpus.mentions import MentionCount, count_mentions
from corpus.models import ALL_COLLECTIONS, Chunk, Collection
from corpus.postgres import one_snapshot
from qa.grounding.citations import cite
from qa.search.hybrid import passage_of
from qa.types import Answer, Query, Quote

# The answerer of these answers.
COUNT = "count"
# Documents that an answer quotes, and groups that it lists; POST /count lists all.
LISTED_COUNT = 10


@one_snapshot()
def answer_count(query: Query, *, group_by: Any) -> Answer | None:
    """Count the mentions of a phrase, and quote the first in each document with most of them.

    None if no document mentions the phrase. The count is exact, so its confidence is 1.

    Raises:
        CollectionNotFound: There is no collection of this name.
    """
    is_of_all = query.collection == ALL_COLLECTIONS
    count = count_mentions(
        query.text,
        collection=None if is_of_all else Collection.objects.get_named(query.collection),
        tags=query.tags,
        filters=query.filters,
        group_by=group_by or None,
        limit=LISTED_COUNT,
    )
    if not count.document_count:
        return None
    text = _describe(count)
    citations = []
    for mention in count.results:
        text += f"\n- {mention.document.name} ({mention.mention_count}): "
        # The line around a mention may begin in one chunk and end in another.
        chunks = Chunk.objects.with_document().filter(document=mention.document)
        chunk = chunks.overlapping(mention.start, mention.start + 1).last()
        if chunk is None:
            raise LookupError(f"No chunk of document {mention.document.pk} holds {mention.start}.")
        start, end = mention.context_start, mention.context_end
        passage = replace(
            passage_of(chunk, score=1.0, similarity=0.0),
            text=mention.context,
            start_char=start,
            end_char=end,
        )
        quote = Quote(passage, start, end)
        citations.append(cite(quote, len(text), len(text) + len(mention.context)))
        text += mention.context
    return Answer("", text, confidence=1.0, citations=tuple(citations), answerer=COUNT)


def _describe(count: MentionCount) -> str:
    verb = "mentions" if count.document_count == 1 else "mention"
    text = (
        f"{count.document_count:,} of {_number(count.searched_count, 'document')} {verb}"
        f" “{count.phrase}”, {_number(count.mention_count, 'time')} in all. Only these whole words"
        " are counted, in upper or lower case, in the texts as pkb stores them: each row of a sheet"
        " has the names of its columns."
    )
    if count.unread_count:
        text += f" Not counted: {_number(count.unread_count, 'document')} without a text."
    if count.groups:
        text += "\n\n" + "\n".join(
            f"- {group.name or 'none'}: {_number(group.document_count, 'document')},"
            f" {_number(group.mention_count, 'time')}"
            for group in count.groups[:LISTED_COUNT]
        )
    if len(count.groups) > LISTED_COUNT:
        text += f"\n- and {len(count.groups) - LISTED_COUNT} more"
    listed = "document"
    if count.document_count > LISTED_COUNT:
        listed = f"of the {LISTED_COUNT} documents with the most mentions"
    return f"{text}\n\nFirst mention in each {listed}:\n"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
