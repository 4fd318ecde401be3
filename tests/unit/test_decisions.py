"""What a sync does with an entry."""

import pytest

from corpus.errors import BackendUnavailable, EmptyDocument
from corpus.ingestion.decisions import Action, Decision, KnownDocument, decide
from corpus.ingestion.outcomes import Outcome
from corpus.sources.source import Entry

ENTRY = Entry("note:1", "v2")
CURRENT = KnownDocument("own", "note:1", version="v2", fingerprint="f", chunk_count=3)
OUTDATED = KnownDocument("own", "note:1", version="v1", fingerprint="f", chunk_count=3)
PLACEHOLDER = KnownDocument("own", "note:1", is_complete=False, has_content=False)
REJECTED = KnownDocument(
    "own", version="v2", fingerprint="f", is_complete=False, rejection="It is empty."
)
UNFINISHED = KnownDocument("own", version="v2", fingerprint="f", is_complete=False)
TWIN = KnownDocument("twin", "note:2", fingerprint="f", chunk_count=5)
MOVED = KnownDocument("moved", "note:3", fingerprint="f", chunk_count=7, is_gone=True)
MOVED_AND_OUTDATED = KnownDocument("moved", "note:3", fingerprint="g", is_gone=True)


@pytest.mark.parametrize(
    ("known", "twins", "action", "document_id"),
    [
        (None, [], Action.ADD, ""),
        (PLACEHOLDER, [], Action.ADD, ""),
        (OUTDATED, [], Action.REPLACE, "own"),
        (UNFINISHED, [], Action.REPLACE, "own"),
        (CURRENT, [MOVED], Action.KEEP, "own"),
        (REJECTED, [MOVED], Action.REJECT, "own"),
        (None, [TWIN], Action.DUPLICATE, "twin"),
        (OUTDATED, [TWIN], Action.DUPLICATE, "twin"),
        (None, [TWIN, MOVED], Action.MOVE, "moved"),
        (OUTDATED, [MOVED_AND_OUTDATED], Action.MOVE_AND_REPLACE, "moved"),
    ],
)
def test_the_action_follows_from_the_entry_and_what_is_stored(
    known: KnownDocument | None, twins: list[KnownDocument], action: Action, document_id: str
) -> None:
    decision = decide(ENTRY, known, fingerprint="f", twins=twins)
    assert (decision.action, decision.result.document_id) == (action, document_id)


def test_other_settings_and_force_replace_an_unchanged_entry() -> None:
    assert decide(ENTRY, CURRENT, fingerprint="g").action == Action.REPLACE
    decision = decide(ENTRY, CURRENT, fingerprint="f", twins=[MOVED], force=True)
    assert decision == Decision(Action.REPLACE, CURRENT)


def test_twins_of_an_unchanged_entry_are_not_looked_up() -> None:
    twins = iter([MOVED])
    assert decide(ENTRY, CURRENT, fingerprint="f", twins=twins).action == Action.KEEP
    assert list(twins) == [MOVED]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (EmptyDocument("The file is empty."), Outcome.REFUSED),
        (BackendUnavailable("The model is gone."), Outcome.FAILED),
        (PermissionError(13, "Permission denied"), Outcome.FAILED),
    ],
)
def test_an_entry_that_cannot_be_read_fails_with_the_reason(
    error: EmptyDocument | OSError, outcome: Outcome
) -> None:
    decision = decide(Entry("note:1", "", error), CURRENT, fingerprint="f", force=True)
    assert decision.action == Action.FAIL
    result = decision.result
    assert (result.outcome, result.document_id) == (outcome, "own")
    assert result.reason in {"The file is empty.", "The model is gone.", "Permission denied"}


@pytest.mark.parametrize(
    ("decision", "outcome", "chunk_count", "reason"),
    [
        (Decision(Action.KEEP, CURRENT), Outcome.UNCHANGED, 3, ""),
        (Decision(Action.MOVE, MOVED), Outcome.RENAMED, 7, ""),
        (Decision(Action.MOVE_AND_REPLACE, MOVED_AND_OUTDATED), Outcome.REPLACED, 0, ""),
        (Decision(Action.REJECT, REJECTED), Outcome.REFUSED, 0, "It is empty."),
        (
            Decision(Action.DUPLICATE, TWIN),
            Outcome.UNCHANGED,
            0,
            "The same content is stored as document twin.",
        ),
    ],
)
def test_the_result_names_the_document_and_why_there_is_none(
    decision: Decision, outcome: Outcome, chunk_count: int, reason: str
) -> None:
    result = decision.result
    assert (result.outcome, result.chunk_count, result.reason) == (outcome, chunk_count, reason)
