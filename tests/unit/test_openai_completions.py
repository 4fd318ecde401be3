"""Markers and annotations of a proved answer."""

from dataclasses import replace
from typing import Any

from django.conf import settings

from qa.api.openai.chat_completions import Completion, part_deltas
from qa.api.openai.replies import AnnotatedReply, annotate
from qa.notices import GREETING, NOTHING_NEAR
from qa.types import Answer, Citation, PageRange, Passage
from tests.support.documents import (
    DATED_ANSWER,
    FIRST_SENTENCE,
    LAST_SENTENCE,
    OTHERWISE_ANSWER,
    SHORT_ANSWER,
    UNSURE_ANSWER,
    record_of,
)

PASSAGE = Passage("c", "d", "0" * 64, "Coast", "", (), None, "One is so. Two is so.", 0, 21)
TEXT = "One is so. Two is so. It ends."


def cited(start: int, end: int) -> Citation:
    return Citation(PASSAGE, TEXT[start:end], start, end, start, end, 0.9, "supported")


def text_of(content: str) -> str:
    """The content without the list of its sources."""
    return content.partition("\n\nSources:\n")[0]


def shown(*citations: Citation) -> tuple[str, list[str]]:
    """The text, and the parts of it that its annotations point at."""
    said = reply(Answer("q", TEXT, 0.9, citations))
    return text_of(said.text), [said.text[cited.start : cited.end] for cited in said.citations]


def reply(answer: Answer) -> AnnotatedReply:
    return AnnotatedReply("a", tuple(annotate(record_of(answer))), 0, 0)


def message_of(answer: Answer) -> dict[str, Any]:
    """The message of a whole completion."""
    whole = Completion("id", "pkb/default").whole(reply(answer))
    return dict(whole["choices"][0]["message"])


def test_each_cited_part_is_marked_and_pointed_at() -> None:
    assert shown(cited(0, 10), cited(11, 21)) == (
        "One is so. [1] Two is so. [2] It ends.",
        ["One is so.", "Two is so."],
    )


def test_two_sources_of_one_part_have_a_marker_each() -> None:
    content, parts = shown(cited(0, 10), cited(0, 10))
    assert content == "One is so. [1] [2] Two is so. It ends."
    assert parts == ["One is so.", "One is so."]


def test_annotations_name_document_and_quote() -> None:
    (annotation,) = message_of(Answer("q", TEXT, 0.9, (cited(11, 21),)))["annotations"]
    assert annotation == {
        "type": "file_citation",
        "file_citation": {
            "file_id": "d", "filename": "Coast", "quote": "Two is so.",
            "start_index": 11, "end_index": 21,
        },
    }  # fmt: skip


def test_the_sources_are_listed_by_name_file_and_page() -> None:
    passage = replace(PASSAGE, title="Leave", source_uri="handbook/hr/index.md")
    citation = replace(cited(0, 10), passage=passage, page_range=PageRange(3, 3, None))
    _, _, sources = reply(Answer("q", TEXT, 0.9, (citation,))).text.partition("Sources:\n")
    address = f"{settings.PKB_PUBLIC_URL}/ui/documents/d"
    assert sources == f"- [1] Leave, handbook/hr/index.md, page 3, {address}"


def test_an_abstention_says_so_and_cites_nothing() -> None:
    abstained = replace(UNSURE_ANSWER, is_unsure=False)
    (piece,) = annotate(record_of(abstained))
    assert (piece.text, piece.citation) == (NOTHING_NEAR, None)
    (piece,) = annotate(record_of(replace(abstained, intent="greeting")))
    assert (piece.text, piece.citation) == (GREETING, None)


def test_what_is_not_answered_of_a_question_is_said_behind_the_answer() -> None:
    pieces = annotate(record_of(replace(SHORT_ANSWER, unanswered=("And when?",))))
    content = "".join(piece.text for piece in pieces)
    assert (
        text_of(content) == f"{SHORT_ANSWER.text} [1]\n\nNot answered by your documents: And when?"
    )


def test_a_name_that_the_quotes_are_not_about_is_said_behind_the_answer() -> None:
    pieces = annotate(record_of(replace(SHORT_ANSWER, not_about=("Torvik",))))
    content = "".join(piece.text for piece in pieces)
    assert text_of(content) == f"{SHORT_ANSWER.text} [1]\n\nNot about Torvik: this is from “Coast”."


def test_an_unsure_reply_quotes_the_closest_passages() -> None:
    message = message_of(UNSURE_ANSWER)
    content = message["content"]
    assert text_of(content) == (
        f"Not sure. Closest passages:\n\n{FIRST_SENTENCE} [1]\n\n{LAST_SENTENCE} [2]"
    )
    cited = [annotation["file_citation"] for annotation in message["annotations"]]
    assert [each["quote"] for each in cited] == [FIRST_SENTENCE, LAST_SENTENCE]
    assert all(content[e["start_index"] : e["end_index"]] == e["quote"] for e in cited)
    assert {each["filename"] for each in cited} == {"Coast"}


def test_an_unsure_reply_shows_the_text_around_a_passage_where_it_was_read() -> None:
    unit = f"{FIRST_SENTENCE} It is old."
    first, second = UNSURE_ANSWER.closest
    closest = (replace(first, unit_start=100, unit_text=unit), second)
    message = message_of(replace(UNSURE_ANSWER, closest=closest))
    assert f"\n\n{unit} [1]\n\n{LAST_SENTENCE} [2]" in message["content"]
    (around, _) = (annotation["file_citation"] for annotation in message["annotations"])
    assert message["content"][around["start_index"] : around["end_index"]] == unit


def test_what_other_documents_say_is_quoted_behind_the_answer() -> None:
    message = message_of(OTHERWISE_ANSWER)
    content = message["content"]
    assert content == (
        f"{FIRST_SENTENCE} [1]\n\nYour documents disagree:\n{LAST_SENTENCE} [2]\n\nSources:\n"
        "- [1] Coast, https://coast.example/bavoke\n- [2] Coast, https://coast.example/bavoke"
    )
    cited = [annotation["file_citation"] for annotation in message["annotations"]]
    assert [each["quote"] for each in cited] == [FIRST_SENTENCE, LAST_SENTENCE]
    assert all(content[e["start_index"] : e["end_index"]] == e["quote"] for e in cited)


def test_documents_that_disagree_are_dated() -> None:
    message = message_of(DATED_ANSWER)
    content = message["content"]
    lead = "Your documents disagree (the answer is of 2024-05-01):"
    assert text_of(content) == f"{FIRST_SENTENCE} [1]\n\n{lead}\n{LAST_SENTENCE} [2] (2019)"
    cited = [annotation["file_citation"] for annotation in message["annotations"]]
    assert all(content[e["start_index"] : e["end_index"]] == e["quote"] for e in cited)


def test_an_unsure_reply_is_streamed_as_it_is_given_whole() -> None:
    message = message_of(UNSURE_ANSWER)
    deltas = list(part_deltas(reply(UNSURE_ANSWER)))
    assert "".join(delta["content"] for delta in deltas) == message["content"]
    streamed = [each for delta in deltas for each in delta.get("annotations", ())]
    assert streamed == message["annotations"]
