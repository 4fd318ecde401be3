"""A language model's draft, verified while it is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qa.grounding.controls import falsify
from qa.grounding.drafts import (
    ABOUT_FROM,
    Checked,
    Claim,
    StreamingVerifier,
    plain_text,
    row_to_text,
)
from qa.segments import split_segments
from qa.types import Answer, Citation, Draft, Passage, Quote, Statement
from tests.support.passages import read_as
from tests.unit.test_citations import (
    BUILT,
    FOREIGN,
    FOREIGN_QUOTE,
    MILL,
    MILL_CHANCE,
    OTHER,
    OTHER_CHANCE,
    OWNER,
    PASSAGE,
    QUESTION,
    RYE,
    TEXT,
    Fixed,
    quote,
    verifier,
)

STRANGE = "Seven elephants of the circus slept near a harbour in Lindow."
CIRCUS = replace(
    FOREIGN, chunk_id="c9", document_id="d9", text=STRANGE, end_char=len(STRANGE), title=""
)
DATED = "It dates from 1874."
RYELESS = "Rye is not ground there."
OWNED = "It belongs to Anna Holt."
LIE = "The mill was built in 1875."

FOUND = (MILL, OTHER, CIRCUS)
Check = Callable[[str, Sequence[Claim]], Checked | None]
Verdict = Literal["yes", "no", ""]


def passage(text: str) -> Passage:
    return read_as(replace(PASSAGE, chunk_id="c4", text=text, end_char=100 + len(text)), score=2.0)


def credulous(question: str, claims: Sequence[Claim]) -> Checked:
    """Accept all but what no model should: sentences of other passages, and turned around ones."""
    texts = [each.text for each in FOUND]
    segments = [plain_text(t[slice(*s.span)]) for t in texts for s in split_segments(t)]

    def accepts(claim: Claim) -> bool:
        is_elsewhere = claim.statement in segments and claim.statement not in claim.evidence
        false = {falsify(plain_text(line)) for line in claim.evidence.splitlines()}
        return not is_elsewhere and claim.statement not in false

    return checked([accepts(claim) for claim in claims], prompt_tokens=10, completion_tokens=1)


def checked(accepted: Sequence[bool], **tokens: int) -> Checked:
    return Checked(tuple("supported" if each else "unsupported" for each in accepted), **tokens)


def doubtful(question: str, claims: Sequence[Claim]) -> Checked:
    """Accept only what the evidence says word for word."""
    return checked([claim.statement in plain_text(claim.evidence) for claim in claims])


@dataclass
class Telling:
    """A draft that is told piece by piece, and what is said of it."""

    answer_from: float = 0.0
    check: Check = credulous
    passages: Sequence[Passage] = FOUND
    relevance: float = 0.0
    said: list[tuple[str, Citation]] = field(default_factory=list)
    read: list[Passage] = field(default_factory=list)
    asked: list[tuple[str, Sequence[Claim]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        proof = replace(verifier(), draft_answer_from=self.answer_from, judge=Fixed(self.relevance))
        self.streaming = StreamingVerifier(
            proof,
            QUESTION,
            self.passages,
            on_text=lambda *piece: self.said.append(piece),
            read=self._read,
            check=self._check,
        )

    def _read(self, passages: Sequence[Passage]) -> list[Passage]:
        self.read += passages
        return [read_as(each, score=2.0) for each in passages]

    def _check(self, question: str, claims: Sequence[Claim]) -> Checked | None:
        self.asked.append((question, claims))
        return self.check(question, claims)

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.said)

    @property
    def outcomes(self) -> list[str]:
        return [fate.outcome for fate in self.streaming.outcomes]

    def tell(self, *statements: Statement, verdict: Verdict = "") -> None:
        self.streaming.verify(draft(*statements, verdict=verdict))

    def end(self, *statements: Statement, verdict: Verdict = "") -> Answer | None:
        return self.streaming.finish(draft(*statements, verdict=verdict))


def draft(*statements: Statement, verdict: Verdict = "") -> Draft:
    return Draft(statements, "model", verdict)


def says(text: str, *quotes: Quote) -> Statement:
    return Statement(text, quotes)


SAYS_DATED = says(DATED, quote(BUILT))
SAYS_LIE = says(LIE, quote(BUILT))
SAYS_RYELESS = says(RYELESS, quote(RYE))
SAYS_OWNED = says(OWNED, quote(OWNER))
SAYS_FOREIGN = says("A text from abroad.", FOREIGN_QUOTE)
SAYS_NOTHING = says("Elephants fly to the moon.")


def told(telling: Telling, *statements: Statement, verdict: Verdict = "") -> str:
    answer = telling.end(*statements, verdict=verdict)
    return answer.text if answer else ""


def test_what_the_model_finds_held_up_is_said_in_its_own_words() -> None:
    telling = Telling()
    answer = telling.end(SAYS_DATED, SAYS_OWNED)
    assert answer is not None
    assert answer.text == telling.text == f"{DATED} {OWNED}"
    assert [citation.quote for citation in answer.citations] == [BUILT, OWNER]
    assert telling.outcomes == ["stated", "stated"]
    assert (answer.question, answer.confidence, answer.short) == (QUESTION, MILL_CHANCE, None)


def test_a_statement_is_cited_with_all_that_it_points_at() -> None:
    both = says("It dates from 1874 and belongs to Anna Holt.", quote(BUILT), quote(OWNER))
    telling = Telling()
    answer = telling.end(both)
    assert answer is not None
    assert [citation.quote for citation in answer.citations] == [BUILT, OWNER]
    assert [text for text, _ in telling.said] == [both.text, ""]


def test_what_its_sources_do_not_say_is_dropped() -> None:
    telling = Telling(check=doubtful)
    assert telling.end(SAYS_DATED) is None
    (fate,) = telling.streaming.outcomes
    assert (fate.text, fate.quoted, fate.outcome) == (DATED, BUILT, "dropped")
    assert fate.reason == "its sources do not say it"


@pytest.mark.parametrize(
    "lie",
    [LIE, "The mill was built in 1874 by Berta Klein.", "The mill was never built in 1874."],
)
def test_other_number_name_or_negation_is_dropped_though_the_check_agrees(
    lie: str,
) -> None:
    telling = Telling()
    assert told(telling, says(lie, quote(BUILT))) == BUILT
    assert telling.outcomes == ["quoted"]


def test_what_was_quoted_before_is_not_quoted_again() -> None:
    telling = Telling()
    assert told(telling, SAYS_LIE, says("It was never built.", quote(BUILT)), SAYS_OWNED) == (
        f"{BUILT} {OWNED}"
    )
    assert telling.outcomes == ["quoted", "repeated", "stated"]


def test_what_points_at_nothing_is_not_said() -> None:
    telling = Telling()
    assert told(telling, SAYS_NOTHING, SAYS_DATED) == DATED
    assert telling.outcomes == ["dropped", "stated"]
    assert telling.streaming.outcomes[0].quoted == ""
    telling = Telling()
    assert telling.end(SAYS_NOTHING) is None
    assert (telling.said, telling.streaming.cited) == ([], ())


def test_without_statements_nothing_is_said_or_asked() -> None:
    telling = Telling()
    assert telling.end() is None
    assert (telling.asked, telling.streaming.is_untrusted) == ([], False)


def test_what_the_check_finds_irrelevant_is_not_said() -> None:
    def check(question: str, claims: Sequence[Claim]) -> Checked:
        found = credulous(question, claims)
        verdicts = ["irrelevant" if each.statement == OWNED else verdict
                    for each, verdict in zip(claims, found.verdicts, strict=True)]  # fmt: skip
        return Checked(tuple(verdicts))

    telling = Telling(check=check)
    assert told(telling, SAYS_OWNED, SAYS_DATED) == DATED
    assert telling.outcomes == ["dropped", "stated"]


def test_unchecked_statement_is_not_said_unless_marked_or_relevant() -> None:
    def told_unchecked(relevance: float, statement: Statement) -> str:
        return told(Telling(check=lambda *_: None, relevance=relevance), statement)

    assert told_unchecked(ABOUT_FROM - 0.01, SAYS_OWNED) == ""
    assert told_unchecked(ABOUT_FROM, SAYS_OWNED) == OWNER
    assert told_unchecked(ABOUT_FROM - 0.01, SAYS_DATED) == BUILT


@pytest.mark.parametrize("verdict", ["supported", "unsupported", "irrelevant"])
def test_a_model_that_fails_what_is_known_is_not_believed(
    verdict: Literal["supported", "unsupported", "irrelevant"],
) -> None:
    telling = Telling(check=lambda _, claims: Checked((verdict,) * len(claims)))
    telling.tell(SAYS_DATED)
    assert telling.end(SAYS_DATED, SAYS_OWNED) is None
    assert telling.streaming.is_untrusted
    assert (telling.said, telling.outcomes) == ([], ["dropped", "dropped"])
    assert len(telling.asked) == 1


def test_a_model_that_passed_what_is_known_is_not_tested_again() -> None:
    telling = Telling()
    telling.tell(SAYS_DATED)
    assert told(telling, SAYS_DATED, SAYS_OWNED) == f"{DATED} {OWNED}"
    assert [claim.statement for claim in telling.asked[1][1]] == [OWNED]


def test_sources_are_quoted_of_a_model_that_could_not_check() -> None:
    telling = Telling(check=lambda *_: None)
    telling.tell(SAYS_DATED)
    assert told(telling, SAYS_DATED, SAYS_OWNED) == f"{BUILT} {OWNER}"
    assert (len(telling.asked), telling.streaming.is_untrusted) == (1, False)


@pytest.mark.parametrize("verdict", ["supported", "unsupported"])
def test_a_refusal_is_not_believed_of_a_model_that_fails_what_is_known(
    verdict: Literal["supported", "unsupported"],
) -> None:
    extract = Draft((SAYS_DATED,), "extractive")
    telling = Telling(check=lambda _, claims: Checked((verdict,) * len(claims)))
    assert not telling.streaming.accepts_refusal(extract)
    assert Telling().streaming.accepts_refusal(extract)
    assert Telling(check=lambda *_: None).streaming.accepts_refusal(extract)


def test_true_and_false_statements_are_checked_among_those_of_the_draft() -> None:
    telling = Telling()
    telling.tell(SAYS_DATED)
    ((question, claims),) = telling.asked
    assert question == QUESTION
    assert {claim.statement for claim in claims} == {DATED, BUILT, falsify(BUILT), STRANGE}
    assert {claim.evidence for claim in claims} == {f"(Mill)\n{BUILT}"}
    again = Telling()
    again.tell(SAYS_DATED)
    assert again.asked == telling.asked


def test_what_checking_took_is_counted() -> None:
    telling = Telling()
    telling.tell(SAYS_DATED)
    telling.tell(SAYS_DATED, SAYS_OWNED)
    assert (telling.streaming.prompt_tokens, telling.streaming.completion_tokens) == (20, 2)


@pytest.mark.parametrize(("verdict", "said"), [("yes", "Yes. "), ("", "")])
def test_the_verdict_is_said_before_the_first_statement(verdict: Verdict, said: str) -> None:
    telling = Telling()
    telling.tell(SAYS_DATED, verdict=verdict)
    assert told(telling, SAYS_DATED, SAYS_OWNED, verdict=verdict) == f"{said}{DATED} {OWNED}"
    assert f"{said}{DATED}" in {claim.statement for claim in telling.asked[0][1]}
    assert telling.streaming.outcomes[0].text == DATED


def test_a_verdict_is_said_once_and_not_before_a_quote() -> None:
    assert told(Telling(), SAYS_RYELESS, verdict="no") == f"No. {RYELESS}"
    denies = says(f"No, {RYELESS.lower()}", *SAYS_RYELESS.quotes)
    assert told(Telling(), denies, verdict="no") == denies.text
    assert told(Telling(), SAYS_LIE, SAYS_OWNED, verdict="yes") == f"{BUILT} {OWNED}"


def test_a_word_that_begins_a_later_sentence_is_no_name() -> None:
    twice = "It dates from 1874. That is its year."
    assert told(Telling(), says(twice, quote(BUILT))) == twice


def test_nothing_is_said_before_the_draft_is_sure_enough() -> None:
    telling = Telling(answer_from=MILL_CHANCE)
    telling.tell(SAYS_FOREIGN)
    assert telling.text == ""
    telling.tell(SAYS_FOREIGN, SAYS_DATED)
    assert telling.text == f"{SAYS_FOREIGN.text} {DATED}"


def test_draft_that_is_never_sure_enough_is_not_said_but_names_its_sources() -> None:
    telling = Telling(answer_from=MILL_CHANCE)
    assert telling.end(SAYS_FOREIGN) is None
    assert telling.said == []
    assert [each.chunk_id for each in telling.streaming.cited] == ["c2"]


def test_what_is_dropped_makes_no_answer_surer() -> None:
    telling = Telling(
        check=lambda _, claims: Checked(
            tuple("irrelevant" if c.statement == OWNED else v for c, v in
                  zip(claims, credulous("", claims).verdicts, strict=True))
        ),
        answer_from=MILL_CHANCE,
    )  # fmt: skip
    assert telling.end(says("A foreign text.", FOREIGN_QUOTE), SAYS_OWNED) is None


STATEMENTS = [
    SAYS_DATED, SAYS_LIE, SAYS_RYELESS, SAYS_OWNED, SAYS_FOREIGN, SAYS_NOTHING,
    says("It is old.", quote(BUILT), FOREIGN_QUOTE),
]  # fmt: skip


@given(
    st.lists(st.sampled_from(STATEMENTS)),
    st.lists(st.integers(0, 8)),
    st.sampled_from([0.0, OTHER_CHANCE, MILL_CHANCE, 1.0]),
    st.sampled_from([credulous, doubtful, lambda *_: None]),
    st.sampled_from(["yes", "no", ""]),
    st.sampled_from([0.0, ABOUT_FROM - 1]),
)
def test_draft_cut_anywhere_gives_the_same_answer_and_takes_nothing_back(
    statements: list[Statement],
    cuts: list[int],
    answer_from: float,
    check: Check,
    verdict: Verdict,
    relevance: float,
) -> None:
    telling = Telling(answer_from, check=check, relevance=relevance)
    for cut in sorted(cuts):
        before = telling.text
        telling.tell(*statements[:cut], verdict=verdict)
        assert telling.text.startswith(before)
    answer = telling.end(*statements, verdict=verdict)
    at_once = Telling(answer_from, check=check, relevance=relevance)
    assert answer == at_once.end(*statements, verdict=verdict)
    assert telling.streaming.outcomes == at_once.streaming.outcomes
    assert telling.text == (answer.text if answer else "")
    if answer:
        assert [citation for _, citation in telling.said] == list(answer.citations)


@given(st.lists(st.sampled_from(STATEMENTS), min_size=1))
def test_no_lie_is_said_by_a_model_that_accepts_it(statements: list[Statement]) -> None:
    text = told(Telling(), *statements)
    assert "1875" not in text
    assert SAYS_NOTHING.text not in text


def test_of_a_draft_that_begins_anew_before_it_is_said_nothing_stays() -> None:
    telling = Telling(answer_from=MILL_CHANCE)
    telling.tell(SAYS_FOREIGN)
    assert told(telling, SAYS_OWNED) == OWNED
    assert [each.chunk_id for each in telling.streaming.cited] == ["c1"]
    assert telling.outcomes == ["stated"]


def test_a_draft_that_begins_anew_goes_on_from_what_was_said() -> None:
    telling = Telling()
    telling.tell(SAYS_DATED, SAYS_RYELESS, verdict="yes")
    said = telling.text
    again = says("It was built in 1874.", quote(BUILT))
    assert told(telling, again, SAYS_OWNED, verdict="yes") == f"{said} {OWNED}"
    assert telling.outcomes == ["repeated", "stated"]


def test_what_was_said_stays_where_the_draft_turns_into_a_refusal() -> None:
    telling = Telling()
    telling.tell(SAYS_DATED)
    assert told(telling) == DATED


def test_what_is_cited_and_was_not_read_is_read_once() -> None:
    unread = replace(PASSAGE, chunk_id="c5", document_id="d5")
    telling = Telling(passages=[*FOUND, unread])
    pointing = says(OWNED, quote(OWNER, unread))
    telling.tell(pointing)
    answer = telling.end(pointing, says(DATED, quote(BUILT, unread)))
    assert answer is not None
    assert telling.read == [unread]
    assert answer.confidence == MILL_CHANCE
    assert [each.chunk_id for each in telling.streaming.cited] == ["c5"]


def test_a_quote_of_a_joined_passage_is_cited_by_its_chunk() -> None:
    behind = "A dam was built in 1902."
    start = PASSAGE.end_char + 2
    neighbour = replace(
        PASSAGE, chunk_id="c6", text=behind, start_char=start, end_char=start + len(behind)
    )
    text = f"{TEXT}\n\n{behind}"
    section = replace(MILL, text=text, end_char=100 + len(text), reading=None)
    telling = Telling(passages=[*FOUND, neighbour])
    across = f"{OWNER}\n\n{behind}"
    answer = telling.end(
        says("A dam dates from 1902.", quote(behind, section)),
        says(DATED, quote(BUILT, section)),
        says("Anna Holt owns a dam of 1902.", quote(across, section)),
    )
    assert answer is not None
    assert [(c.passage.chunk_id, c.quote) for c in answer.citations] == [
        ("c6", behind), ("c1", BUILT), ("c1", across),
    ]  # fmt: skip
    assert telling.read == [neighbour, section]


def quoted(text: str, *pointed: str) -> str:
    found = passage(text)
    quotes = [quote(each, found) for each in pointed]
    return told(Telling(check=lambda *_: None, passages=[found]), says("Something.", *quotes))


def test_an_item_is_quoted_behind_what_it_needs_each_once() -> None:
    text = "To move:\n\n1. Stop it.\n   - Lock the wheel.\n   - Tell Anna.\n2. Lift it."
    assert quoted(text, "2. Lift it.") == "To move:\n\nLift it."
    assert quoted(text, "- Tell Anna.", "2. Lift it.") == (
        "To move:\n- Stop it.\n- Tell Anna.\n- Lift it."
    )


def test_a_row_is_quoted_with_the_names_of_its_columns() -> None:
    text = "| part | of |\n|---|---|\n| wheel | iron |\n| sail | linen |"
    assert quoted(text, "| sail | linen |") == "part: sail; of: linen"
    assert quoted(text, "| part | of |") == "part; of"
    nested = "A mill.\n\n- Parts are:\n  | part | of |\n  |---|---|\n  | sail | linen |"
    assert quoted(nested, "| sail | linen |") == "Parts are:\n\npart: sail; of: linen"


def test_code_is_quoted_as_it_stands() -> None:
    code = "```\ngrind --rye\n```"
    text = f"Run this:\n\n{code}\n\nThen wait."
    assert quoted(text, code, "Then wait.") == f"Run this:\n\n{code}\n\nThen wait."


def test_a_part_of_a_segment_is_quoted_alone() -> None:
    assert quoted("To move:\n\n- Stop it.", "Stop it.") == "Stop it."


def test_what_is_checked_stands_behind_what_it_needs() -> None:
    text = "Parts:\n\n- a wheel\n- a sail"
    found = passage(text)
    telling = Telling(passages=[found])
    telling.tell(
        says("There is a sail and a wheel.", quote("- a sail", found), quote("- a wheel", found))
    )
    ((_, claims),) = telling.asked
    assert {claim.evidence for claim in claims} == {
        "(Mill)\nParts:\n- a sail\n...\n(Mill)\nParts:\n- a wheel"
    }


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("Rye is ground.", "Rye is ground."),
        ("- Rye", "Rye"),
        ("  * Rye", "Rye"),
        ("\u2022 Rye", "Rye"),
        ("12. Rye", "Rye"),
        ("(3) Rye", "Rye"),
        ("## Rye", "Rye"),
        ("> Rye\n> is ground.", "Rye is ground."),
        ("> - Rye", "Rye"),
        ("- [x] Rye", "Rye"),
        ("[ ] Rye", "Rye"),
        ("Rye\n   is\tground.", "Rye is ground."),
        ("", ""),
    ],
)
def test_marks_and_line_breaks_are_left_out(text: str, plain: str) -> None:
    assert plain_text(text) == plain


@pytest.mark.parametrize(
    "text",
    ["-5 degrees", "1874. is no year", "1.5 m of rye", "#5 is rye", "a - b", "[1] Rye", "**Rye**"],
)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    assert plain_text(text) == text


@pytest.mark.parametrize(
    ("row", "header", "told"),
    [
        ("| wheel | iron |", "| part | of |", "part: wheel; of: iron"),
        ("wheel|iron", "part|of", "part: wheel; of: iron"),
        ("| wheel |  |", "| part | of |", "part: wheel"),
        ("| wheel | iron |", "| | of |", "wheel; of: iron"),
        ("| wheel | iron | old |", "| part | of |", "part: wheel; of: iron; old"),
        ("| wheel |", "| part | of |", "part: wheel"),
        ("| wheel | iron |", "", "wheel; iron"),
        (r"| a \| b | iron |", "| part | of |", r"part: a \| b; of: iron"),
        ("|  wheel\t of  oak |", "| part |", "part: wheel of oak"),
    ],
)
def test_a_row_is_told_by_its_columns(row: str, header: str, told: str) -> None:
    assert row_to_text(row, header) == told
