"""Write answers and conversations as Markdown, their quotes as footnotes."""

from collections.abc import Iterable, Sequence

from qa.notices import UNANSWERED
from web.answer_presenter import DISAGREEMENT, ERASED, OCR_UNSURE, SHARED_WORDS, Card, Source, Turn


def conversation_as_markdown(name: str, turns: Iterable[Turn]) -> str:
    """Return a conversation under its name; footnotes are numbered through."""
    parts = [f"# {name}"]
    count = 0
    for turn in turns:
        parts.append(answer_as_markdown(turn, first=count + 1).rstrip())
        count += len(turn.cited)
    return "\n\n".join(parts) + "\n"


def answer_as_markdown(turn: Turn, *, first: int = 1) -> str:
    """Return a question with its answer; its quotes are footnotes from number ``first`` on."""
    answer = turn.answer
    parts = [f"**{answer.question}**", _said(turn, first - 1)]
    parts += [f"{UNANSWERED} {part}" for part in answer.unanswered]
    if turn.disagreement:
        parts += [DISAGREEMENT, _listed(turn.disagreement, is_dated=True)]
    if turn.is_answer:
        notes = enumerate(turn.cited, start=first)
        is_dated = bool(turn.disagreement)
        told = (f"[^{number}]: {_note(source, is_dated=is_dated)}" for number, source in notes)
        parts.append("\n".join(told))
    else:
        parts += [f"{SHARED_WORDS}:"] * bool(turn.notice and turn.closest)
        parts += [_passage(card) for card in turn.closest]
    return "\n\n".join(part for part in parts if part) + "\n"


def _said(turn: Turn, shift: int) -> str:
    """The answer's own words, each cited part followed by the numbers of its notes."""
    if not turn.is_answer:
        return {"unsure": turn.words["unsure"], "erased": ERASED}.get(turn.answer.kind, turn.notice)
    text, said, place = turn.answer.text, "", 0
    for source in turn.cited:
        end = max(source.answer_end, place)
        said += f"{text[place:end]}[^{source.number + shift}]"
        place = end
    return said + text[place:]


def _listed(sources: Sequence[Source], *, is_dated: bool = False) -> str:
    return "\n".join(f"- {_note(source, is_dated=is_dated)}" for source in sources)


def _passage(card: Card) -> str:
    """Quote a whole passage under its place."""
    lines = (f"> {line}".rstrip() for line in card.text.split("\n"))
    return "\n".join([f"{_place(card.source)}:", "", *lines])


def _note(source: Source, *, is_dated: bool = False) -> str:
    """Tell a quote and its place; where documents disagree, the day of its document, too."""
    if source.state == "deleted":
        return "a deleted document"
    return f'{_place(source, date=source.document_date if is_dated else "")}: "{source.quote}"'


def _place(source: Source, *, date: str = "") -> str:
    unsure = OCR_UNSURE if source.is_unsure else ""
    place = [source.name, " › ".join(source.heading_path), source.pages]
    return ", ".join(part for part in [*place, date, source.source_uri, unsure] if part)
