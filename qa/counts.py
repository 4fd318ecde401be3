"""Answer how many documents mention a phrase, or state an amount: counted, each document quoted."""

from corpus.amounts import parse_range
from corpus.errors import InvalidInput
from corpus.mentions import MentionCount, count_mentions
from corpus.models import ALL_COLLECTIONS, Collection, Document
from corpus.postgres import one_snapshot
from qa.grounding.citations import cite
from qa.intent import Intent
from qa.types import Answer, Citation, Query, Quote
from qa.whole_tables import passage_at

# The answerer of these answers.
COUNT = "count"
# Documents that an answer quotes, and groups that it lists; POST /count lists all.
LISTED_COUNT = 10


@one_snapshot()
def answer_count(query: Query, intent: Intent) -> Answer | None:
    """Count mentions, or documents by an amount; quote those with most, or the largest.

    None if no document mentions the phrase, or is named by the noun. The answer is empty if no
    amount is in the range, or they are in several currencies and the question names none. A count
    is exact, so its confidence is 1.

    Raises:
        CollectionNotFound: There is no collection of this name.
    """
    is_of_all = query.collection == ALL_COLLECTIONS
    collection = None if is_of_all else Collection.objects.get_named(query.collection)
    try:
        count = count_mentions(
            query.text,
            amount=intent.amount,
            collection=collection,
            tags=query.tags,
            filters=query.filters,
            group_by=intent.group_by or None,  # type: ignore[arg-type]
            limit=LISTED_COUNT,
        )
    except InvalidInput:
        return Answer("", "", confidence=0.0)
    if not (count.searched_count if intent.amount else count.document_count):
        return None
    if not count.document_count:
        return Answer("", "", confidence=0.0)
    text = _describe(count, intent.amount)
    citations: list[Citation] = []
    for mention in count.results:
        text += f"\n- {mention.document.name}"
        text += ": " if intent.amount else f" ({mention.mention_count}): "
        spans = [(mention.context_start, mention.context)]
        if date := mention.stated_date:
            document = Document.objects.filter(pk=mention.document.pk)
            spans.append((date.start, document.slice_of_text(date.start, date.end)))
        for number, (start, quoted) in enumerate(spans):
            text += " \u2013 " if number else ""
            # The line around a mention may begin in one chunk and end in another.
            at = start if number else mention.start
            passage = passage_at(mention.document.pk, quoted, start, at=at)
            quote = Quote(passage, start, passage.end_char)
            citations.append(cite(quote, len(text), len(text) + len(quoted)))
            text += quoted
    return Answer("", text, confidence=1.0, citations=tuple(citations), answerer=COUNT)


def _describe(count: MentionCount, amount: str) -> str:
    documents = _number(count.searched_count, "document")
    is_one = count.document_count == 1
    if amount:
        wanted = parse_range(amount)
        currency = "" if wanted and wanted.currency else f" (in {count.currency})"
        text = (
            f"{count.document_count:,} of {documents} named “{count.phrase}” state{'s' * is_one} an"
            f" amount {amount}{currency}. Named so are documents with this word in"
            " title, path, tag or collection. Their amount is the one labelled as a total or as"
            " due, or the only one."
        )
        if count.unclear_count:
            others = _number(count.unclear_count, "document")
            text += f" Not compared: {others} whose amount is unclear or in another currency."
    else:
        text = (
            f"{count.document_count:,} of {documents} mention{'s' * is_one} “{count.phrase}”,"
            f" {_number(count.mention_count, 'time')} in all. Only these whole words are counted,"
            " in upper or lower case, in the texts as pkb stores them: each row of a sheet has the"
            " names of its columns."
        )
    if count.unread_count:
        text += f" Not counted: {_number(count.unread_count, 'document')} without a text."
    if count.groups:
        text += "\n\n" + "\n".join(
            f"- {group.name or 'none'}: {_number(group.document_count, 'document')}"
            + ("" if amount else f", {_number(group.mention_count, 'time')}")
            for group in count.groups[:LISTED_COUNT]
        )
    if len(count.groups) > LISTED_COUNT:
        text += f"\n- and {len(count.groups) - LISTED_COUNT} more"
    is_cut = count.document_count > LISTED_COUNT
    if amount:
        return text + (f"\n\nThe {LISTED_COUNT} largest:\n" if is_cut else "\n")
    listed = f"of the {LISTED_COUNT} documents with the most mentions" if is_cut else "document"
    return f"{text}\n\nFirst mention in each {listed}:\n"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
