"""Write answers and conversations as Markdown, their quotes as footnotes."""

from collections.abc import Iterable

from corpus.roots.shown_paths import short_place
from qa.notices import UNANSWERED
from web.answer_presenter import DISAGREEMENT, SHARED_WORDS, Source, Turn


def conversation_as_markdown(name: str, turns: Iterable[Turn]) -> str:
    """Return a conversation under its name; footnotes are numbered through."""
    parts = [f"# {name}"]
    count = 0
    for turn in turns:
        parts.append(answer_as_markdown(turn, first=count + 1).rstrip())
        count += len(turn.sources)
    return "\n\n".join(parts) + "\n"


def answer_as_markdown(turn: Turn, *, first: int = 1) -> str:
    """Return a question with its answer; its quotes are footnotes from number ``first`` on."""
    is_dated = bool(turn.disagreement)
    parts = [f"**{turn.answer.question}**"]
    if turn.is_answer:
        text, end = "", 0
        for number, source in enumerate(turn.sources, start=first):
            start, end = end, max(source.quote.answer_end, end)
            text += f"{turn.answer.text[start:end]}[^{number}]"
        parts += [text + turn.answer.text[end:], turn.answer.notice or ""]
    else:
        parts.append(turn.instead)
    parts += [f"{UNANSWERED} {part}" for part in turn.answer.unanswered]
    if turn.disagreement:
        notes = (f"- {_note(source, is_dated=True)}" for source in turn.disagreement)
        parts += [DISAGREEMENT, "\n".join(notes)]
    if turn.is_answer:
        parts.append(
            "\n".join(
                f"[^{number}]: {_note(source, is_dated=is_dated)}"
                for number, source in enumerate(turn.sources, start=first)
            )
        )
    else:
        parts += [f"{SHARED_WORDS}:"] * bool(turn.answer.notice and turn.closest)
        for source in turn.closest:
            lines = (f"> {line}".rstrip() for line in source.quote.whole_text.split("\n"))
            parts.append("\n".join([f"{_place(source)}:", "", *lines]))
    return "\n\n".join(part for part in parts if part) + "\n"


def _note(source: Source, *, is_dated: bool) -> str:
    """Return a quote and its place, with the day of its document where documents disagree."""
    if source.quote.standing == "deleted":
        return "a deleted document"
    date = source.quote.document_date if is_dated else None
    return f'{_place(source, date=date)}: "{source.text}"'


def _place(source: Source, *, date: str | None = None) -> str:
    quote = source.quote
    is_page = quote.source_uri.startswith(("http://", "https://"))
    place = quote.source_uri if is_page else short_place(quote.source_uri)
    parts = [
        source.name, " › ".join(source.headings), source.pages, date,
        place if place != source.name else "", source.warning,
    ]  # fmt: skip
    return ", ".join(part for part in parts if part)
