"""What is said where nothing is asked, or a document is to be summed up."""

import pytest

from corpus.ingestion.normal_form import Heading
from qa.grounding.outline import CONFIDENCE, MAX_WORDS, Section, summarize_outline
from qa.intent import (
    asks_for_overview,
    classify,
    distinctive_words,
    find_document_name,
    is_greeting,
)
from qa.notices import GREETING, NOTHING_NEAR, UNNAMED, notice_of
from qa.search.document_search import find_by_name, find_main
from qa.types import Answer, Citation, Passage

MANUAL = (
    "# Fire manual\n\n## Alarms\n\nRing the bell twice before you leave the hall. Then walk.\n\n"
    "## Exits\n\n- North\n- South\n\n## Names\n\nBerta\n\n## Drills\n\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "hi", "Hello!", "hello there, how are you?", "Thank you very much!", " ok ", "help",
        "Who are you?", "What can you do?", "Hi! How can you help me?", "Hallo", "Guten Tag!",
        "Danke schön", "Wer bist du?", "Was kannst du?", "Bonjour", "Merci beaucoup", "Qui es-tu ?",
        "¡Hola! ¿Quién eres?", "Buenos días", "Muchas gracias", "Ciao", "Buongiorno", "Chi sei?",
    ],
)  # fmt: skip
def test_a_greeting_is_told_from_a_question(text: str) -> None:
    assert is_greeting(text)
    assert notice_of(classify(text).kind) == GREETING


@pytest.mark.parametrize(
    "text",
    [
        "hi, what is the port?", "hiking", "", "What is hello?", "Who are you working with?",
        "What can you do with a port?", "Help me change the port", "Salve regina", "Wer ist das?",
    ],
)  # fmt: skip
def test_a_question_that_greets_is_still_asked(text: str) -> None:
    assert not is_greeting(text)
    assert notice_of(classify(text).kind) == NOTHING_NEAR


def test_an_answer_from_before_intents_were_kept_has_the_usual_notice() -> None:
    assert notice_of("") == NOTHING_NEAR


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Summarise the fire manual", "the fire manual"),
        ("Please summarize docs/deploy.md.", "docs/deploy.md"),
        ("Give me a short summary of the Postfix guide", "the Postfix guide"),
        ("What is the deployment guide about?", "the deployment guide"),
        ("What does chrony FAQ cover?", "chrony FAQ"),
        ("tl;dr of this", "this"),
        ("Could you please sum up this document?", "this document"),
        ("What is it?", ""),
        ("What is a summary?", ""),
        ("What about the port?", ""),
        ("Summarise", ""),
    ],
)
def test_what_is_to_be_summed_up_is_named(text: str, name: str) -> None:
    assert find_document_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        "Summarise everything", "Summarize", "Please sum up", "Give me a summary", "tl;dr",
        "Can you give me a short overview, please?", "Summarise all the documents.",
        "What is this about?", "what's this all about", "What are the documents about?",
        "What do these files cover?", "Give me an overview of the whole collection",
        "Which documents are there?", "What's in here?", "List all my documents",
    ],
)  # fmt: skip
def test_a_summary_of_no_document_is_one_of_all(text: str) -> None:
    assert asks_for_overview(text)
    assert notice_of(classify(text).kind) == UNNAMED


@pytest.mark.parametrize(
    "text",
    [
        "What is this about ports?", "Give me a summary of the retention policy",
        "Summarise fire.md", "What is a summary?", "What is in the box?", "Who wrote the summary?",
        "About",
        "What are the rules about?", "Which documents are required?", "List all ports", "",
    ],
)  # fmt: skip
def test_what_names_something_is_not_all(text: str) -> None:
    assert not asks_for_overview(text)
    assert notice_of(classify(text).kind) == NOTHING_NEAR


def passage(title: str, document_id: str = "d1", source_uri: str = "") -> Passage:
    text = "Text."
    return Passage("c1", document_id, "0" * 64, title, source_uri, (), None, text, 0, len(text))


def test_a_document_is_found_by_the_telling_words_of_its_title_or_address() -> None:
    first, second = passage("Bakery"), passage("The fire manual", "d2", "file:///x/fire.md")
    assert distinctive_words("The Fire manual!") == {"fire"}
    assert find_by_name("the fire manual", [first, second]) is second
    assert find_by_name("fire.md", [first, second]) is second
    assert find_by_name("the flood manual", [first, second]) is None
    assert find_by_name("this document", [passage("Bakery")]) is None


def test_the_main_headings_are_those_of_the_highest_level_that_has_several() -> None:
    title, one, two, deep = (
        Heading(0, 5, 1, "Title"), Heading(6, 9, 2, "One"),
        Heading(10, 12, 2, "Two"), Heading(13, 15, 3, "Deep"),
    )  # fmt: skip
    assert find_main([title, one, two, deep]) == [one, two]
    assert find_main([title, one]) == [title, one]
    assert find_main([]) == []


def outlined(*starts: int, text: str = MANUAL) -> tuple[Answer, list[tuple[str, Citation]]]:
    source = Passage("c1", "d1", "0" * 64, "Fire", "", (), None, text, 100, 100 + len(text))
    said: list[tuple[str, Citation]] = []
    answer = summarize_outline(
        "Summarise it",
        [Section(source, start, max(start, text.find("\n", start))) for start in starts],
        answerer="extractive",
        on_text=lambda text, citation: said.append((text, citation)),
    )
    return answer, said


def test_summary_is_each_sections_heading_and_first_sentence_verbatim() -> None:
    answer, said = outlined(MANUAL.index("## Alarms"))
    quote = "## Alarms\n\nRing the bell twice before you leave the hall."
    assert (answer.text, answer.confidence, answer.kind) == (quote, CONFIDENCE, "answer")
    (citation,) = answer.citations
    start = MANUAL.index("## Alarms")
    assert (citation.start_char, citation.end_char) == (100 + start, 100 + start + len(quote))
    assert said == [(quote, citation)]


def test_summary_of_several_sections_is_streamed_as_the_answer_has_it() -> None:
    text = MANUAL + "Walk to the gate every first Monday."
    answer, said = outlined(text.index("## Alarms"), text.index("## Drills"), text=text)
    assert "".join(piece for piece, _ in said) == answer.text
    assert tuple(citation for _, citation in said) == answer.citations
    for citation in answer.citations:
        assert answer.text[citation.answer_start : citation.answer_end] == citation.quote


def test_a_sentence_far_behind_its_heading_stands_alone() -> None:
    text = "## List\n\n" + "- word\n" * MAX_WORDS + "\nThese are the words of it."
    answer, _ = outlined(0, text=text)
    assert answer.text == "These are the words of it."


def test_a_heading_that_is_a_sentence_does_not_open_its_own_section() -> None:
    answer, _ = outlined(0, text="Which doors are open at night?\n\nOnly the north door is open.")
    assert answer.text == "Which doors are open at night?\n\nOnly the north door is open."


def test_a_section_is_told_once() -> None:
    at = MANUAL.index("## Alarms")
    answer, said = outlined(at, at)
    assert len(answer.citations) == len(said) == 1


def test_without_a_sentence_nothing_is_said() -> None:
    answer, said = outlined(MANUAL.index("## Drills"))
    assert (answer.kind, answer.confidence, said) == ("abstained", 0.0, [])
