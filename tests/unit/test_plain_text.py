"""What a quoted segment says without the marks of its layout."""

import pytest

from qa.proof.plain_text import plain_text, tell_row


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
    assert tell_row(row, header) == told
