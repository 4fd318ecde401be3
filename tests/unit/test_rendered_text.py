"""Text is shown as it is meant, marked exactly, and is never HTML of its own."""

from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from web.light_markup import read_light_markup
from web.markdown import MAX_INLINE_CHARS, Element, Piece, read_markdown
from web.rendered_text import MARKDOWN, Mark, render, visible_text
from web.text_tables import read_tables

PLAIN = "text/plain"
# Elements with the attributes that each may have.
ALLOWED = {
    **{tag: set() for tag in (
        "ul", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "hr", "br", "pre",
        "code", "strong", "em",
    )},
    "p": {"class"}, "div": {"class", "tabindex"}, "ol": {"start"}, "mark": {"class", "id"},
    "a": {"href", "rel", "target"},
}  # fmt: skip


class Shown(HTMLParser):
    """What a browser makes of it: the text, the text of marks, and every element."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.marked, self.depth = "", "", 0
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in {"br", "hr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "elements cross"

    def handle_data(self, data: str) -> None:
        self.text += data
        if "mark" in self.open:
            self.marked += data


def shown(source: str, *marks: tuple[int, int], media_type: str = MARKDOWN) -> Shown:
    laid = [Mark(start, end, id="passage") for start, end in marks]
    return Shown(render(source, media_type=media_type, marks=laid))


SNIPPETS = [
    "- a\n\tb", ">\tq", "<div>\n\t<i>x</i>\n</div>",
    "**bold**", "_slanted_", "[a link](https://x.example/y 'z')", "`code`", "``a ` b``", "# Head",
    "- item", "1. one", "> quote", "| a | b |\n|---|---|\n| c | a |", "```\nx = 1\n```", "\\*",
    "&amp;", "&nope;", "<b>", "</b>", "<T>", "<!-- x -->", "![alt](y.png)", "<https://x.example>",
    "\n", "\n\n", "    ", "\t", " ", "word", "*", "_", "`", "[", "](", ")", "\\", "|", "é",
    "\U0001f5fc",     "<script>alert(1)</script>", "[x](javascript:alert(1))", "a\\\nb", "---", "#",
    "a \\| b", "[r]: /u",
]  # fmt: skip
drawn = st.lists(st.sampled_from(SNIPPETS), max_size=14).map("".join) | st.text(max_size=80)
# Stored texts have one kind of line break and no NUL.
sources = drawn.map(lambda text: text.replace("\r", "").replace("\0", ""))


@given(sources)
@example("| a | a |\n|---|---|\n| a\\|b | `a` |")
@example("- a\n\n\t\tcode")
@example("- a\n\tb c\n\t*d*")
@example("| `a\\|b` | | a |\n|---|---|---|\n| a | |")
def test_each_character_shown_is_the_one_of_its_place(source: str) -> None:
    place = 0
    for part in read_markdown(source):
        if isinstance(part, Element):
            continue
        assert place <= part.start <= part.end <= len(source)
        if not part.is_whole:
            written = source[part.start : part.end]
            assert part.text in (written, written.replace("\n", " "))
        place = part.end


@given(sources, st.integers(0, 120), st.integers(0, 120))
def test_a_mark_holds_what_is_shown_of_its_span(source: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(source)), min(other, len(source))))
    bare = shown(source)
    marked = shown(source, (start, end))
    assert marked.text == bare.text
    before, behind = shown(source, (0, start)).marked, shown(source, (end, len(source))).marked
    assert before + marked.marked + behind == bare.text


@given(sources, st.integers(0, 120), st.integers(0, 120))
def test_a_mark_in_plain_text_is_its_span(source: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(source)), min(other, len(source))))
    found = shown(source, (start, end), media_type=PLAIN)
    assert found.text == source
    assert found.marked == source[start:end]


@given(drawn)
@example("[x](JaVaScRiPt:alert(1)) ![x](http://evil.invalid) <a href=javascript:alert(1)>x</a>")
@example('[x](https://a.example/"onmouseover="alert)')
def test_nothing_of_a_text_becomes_html(source: str) -> None:
    found = shown(source, (0, len(source)))
    assert found.open == []
    for tag, attributes in found.elements:
        assert set(attributes) <= ALLOWED[tag]
        assert (attributes.get("href") or "https://").startswith(("http://", "https://", "mailto:"))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("one two\nthree\\\nfour", "one two\nthreefour"),
        ("Set **the `port`** to [8000](https://x.example).", "Set the port to 8000."),
        ("A <b>bold</b> word<br>and Vec<String>", "A bold wordand Vec<String>"),
        ("Fish &amp; chips \\*", "Fish & chips *"),
        ("![Build](https://x.example/b.svg) passes", "Build passes"),
        ("[here](docs/x.md) and <https://x.example>", "here and https://x.example"),
        ("# Head ##", "Head"),
        ("above\n\n---\n\nbelow", "abovebelow"),
        ("> quoted\n> on", "quoted\non"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("<p align=center>\nhi\n</p>", "\nhi\n"),
        ("~~~\na\n\n  b\n~~~", "a\n\n  b\n"),
        ("3. one\n4. two", "onetwo"),
        ("the sign `` ` ``", "the sign `"),
        ("an `open sign, fish & chips < 5", "an `open sign, fish & chips < 5"),
    ],
)  # fmt: skip
def test_marks_of_form_are_not_shown(source: str, text: str) -> None:
    assert shown(source).text == text


def test_the_cell_that_is_cited_is_the_one_marked() -> None:
    source = "| a | b |\n|---|---|\n| same | same |\n| x\\|y | same |"
    at = source.index("same |\n| x")
    html = render(source, media_type=MARKDOWN, marks=[Mark(at, at + 4)])
    assert '<td>same</td><td><mark class="cited">same</mark></td>' in html
    last = source.rindex("same")
    html = render(source, media_type=MARKDOWN, marks=[Mark(last, last + 4)])
    assert '<td>x|y</td><td><mark class="cited">same</mark></td>' in html


def test_marks_lie_in_each_other_and_have_their_id_once() -> None:
    source = "One **two** three."
    marks = [Mark(104, 111, id="passage"), Mark(106, 109, tag="strong", name="")]
    html = render(source, media_type=MARKDOWN, offset=100, marks=marks)
    assert html == (
        '<p>One <strong><mark class="cited" id="passage"><strong>two</strong></mark></strong>'
        " three.</p>"
    )
    plain = render("One two three", media_type=PLAIN, marks=[Mark(0, 7), Mark(4, 7, tag="b")])
    assert plain == '<mark class="cited">One <b class="cited">two</b></mark> three'
    long = render(source, media_type=MARKDOWN, marks=[Mark(0, 18, id="passage")])
    assert long.count('id="passage"') == 1


def test_text_of_two_overlapping_marks_is_in_both() -> None:
    marks = [
        Mark(97, 104, tag="span", name="even", id="chunk-0"),
        Mark(103, 120, tag="span", name="odd", id="chunk-1"),
    ]
    assert render("abcdefgh", media_type=PLAIN, offset=100, marks=marks) == (
        '<span class="even" id="chunk-0">abc<span class="odd" id="chunk-1">d</span></span>'
        '<span class="odd">efgh</span>'
    )


def test_what_is_put_in_stands_behind_its_character() -> None:
    source = "One. **Two.** Three."
    html = render(source, media_type=MARKDOWN, offset=10, inserted=[(14, "[1]"), (30, "[2]")])
    assert html == "<p>One.[1] <strong>Two.</strong> Three.[2]</p>"
    unseen = render("One **two**", media_type=MARKDOWN, inserted=[(11, "[1]")])
    assert unseen == "<p>One <strong>two[1]</strong></p>"
    assert render("", media_type=MARKDOWN, inserted=[(0, "[1]")]) == "[1]"


def test_the_text_alone_is_one_line() -> None:
    source = "# Head\n\n- **one** `two`\n- [three](https://x.example)"
    assert visible_text(source, media_type=MARKDOWN) == "Head one two three"
    assert visible_text("a *b*\nc", media_type=PLAIN) == "a *b* c"


def test_a_block_too_long_to_be_parsed_is_shown_as_written() -> None:
    source = "**a** " * MAX_INLINE_CHARS
    assert shown(source).text == source.rstrip()


def test_what_stands_nowhere_in_the_source_is_shown_whole() -> None:
    source = "- a\n\n\t\tindented"
    (code,) = (p for p in read_markdown(source) if isinstance(p, Piece) and "ind" in p.text)
    assert code.text.strip() == "indented"
    assert "indented" in shown(source, (0, len(source))).marked


FEES = """Fees:

| Boat | Fee \\| due |
| --- | --- |
| Dinghy | 12 *a* |
|  | |

End | of it"""


def test_tables_of_files_are_tables_and_their_cells_plain_text() -> None:
    found = shown(FEES, media_type="text/html")
    assert found.text == "Fees:\n\nBoatFee | dueDinghy12 *a*\nEnd | of it"
    tags = [tag for tag, _ in found.elements]
    assert (tags.count("th"), tags.count("td"), tags.count("tr")) == (2, 4, 3)
    start, end = FEES.index("due"), FEES.index(" *a*")
    assert shown(FEES, (start, end), media_type="text/html").marked == "dueDinghy12"
    assert shown("| Dinghy | 12 |", media_type="text/csv").text == "Dinghy12"
    assert shown("| alone |", media_type="text/csv").text == "| alone |"
    assert shown(FEES, media_type=PLAIN).text == FEES
    assert visible_text(FEES, media_type="text/html").endswith("Dinghy 12 *a* End | of it")


REST = """.. note:: Mind ``x`` and :class:`~a.Model`, :ref:`the docs <topics>`.

`Site <https://a.example/x>`_, `no <java:x>`_, *this* **bold** 2 * 3 * 4::

    $ make *all*

.. code-block:: python

    f(*a, *b)

End `it`."""
ASCIIDOC = """= Title
[source,python]
----
f(*a, *b)
----
Use `x`, *bold*, _this_, https://a.example[the site] and <<id,that>>, snake_case_name.
.Listing
End."""


def test_restructuredtext_is_shown_without_its_marks() -> None:
    found = shown(REST, media_type="text/x-rst")
    assert found.text == (
        "note Mind x and a.Model, the docs.\n\nSite, no, this bold 2 * 3 * 4:\n\n"
        "    $ make *all*\n\n\n    f(*a, *b)\n\nEnd it."
    )
    tags = [tag for tag, _ in found.elements]
    assert tags == ["strong", "code", "code", "a", "em", "strong"]
    start, end = REST.index("Site"), REST.index(", `no")
    assert shown(REST, (start, end), media_type="text/x-rst").marked == "Site"


def test_asciidoc_is_shown_without_its_marks() -> None:
    found = shown(ASCIIDOC, media_type="text/asciidoc")
    assert found.text == (
        "Title\nf(*a, *b)\nUse x, bold, this, the site and that, snake_case_name.\nListing\nEnd."
    )
    assert [tag for tag, _ in found.elements] == ["strong", "code", "strong", "em", "a", "strong"]
    assert visible_text(ASCIIDOC, media_type="text/asciidoc").startswith("Title f(*a, *b) Use x,")


LIGHT_SNIPPETS = [
    "``", "`", "*", "**", "_", "__", ":ref:`", "<", ">", "<a>`_", "::", ".. note::", ".. code::",
    "\n", "\n\n", "    ", "= ", "----", "\n----\n", "[", "]", "https://x.example[", "<<a,", "word",
    " ", "é", "<b>", "&amp;", "[source]", "+", ".T", "javascript:x[",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(LIGHT_SNIPPETS), max_size=14).map("".join),
    st.sampled_from(["text/x-rst", "text/asciidoc"]),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_what_is_shown_of_light_markup_is_of_its_text(
    source: str, media_type: str, one: int, other: int
) -> None:
    place = 0
    for part in read_light_markup(source, media_type):
        if isinstance(part, Piece):
            assert place <= part.start < part.end <= len(source)
            assert source[part.start : part.end] == part.text
            place = part.end
    start, end = sorted((min(one, len(source)), min(other, len(source))))
    found = shown(source, (start, end), media_type=media_type)
    assert all(set(attrs) <= ALLOWED[tag] for tag, attrs in found.elements)
    marked = iter(source[start:end])
    assert all(letter in marked for letter in found.marked)


@given(st.text(st.sampled_from("|\\\n -ab&<"), max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_what_is_shown_of_tables_is_of_their_text(source: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(source)), min(other, len(source))))
    found = shown(source, (start, end), media_type="text/html")
    bare = found.text.replace("|", "").replace("\\", "")
    letters = iter(source)
    assert all(letter in letters for letter in bare)
    assert all(tag in ALLOWED for tag, _ in found.elements)
    parts = [p for p in read_tables(source) if isinstance(p, Piece) and not p.is_whole]
    assert all(source[p.start : p.end] == p.text for p in parts)


def test_rows_without_their_header_are_a_table_with_empty_heads() -> None:
    text = "| Ketch | **40** |\n| Trawler | 9\\|5 |\n\nBehind."
    marks = [Mark(102, 107), Mark(121, 128)]
    html = render(text, media_type=MARKDOWN, offset=100, marks=marks)
    assert "<th></th><th></th>" in html
    assert '<td><mark class="cited">Ketch</mark></td><td><strong>40</strong></td>' in html
    assert '<td><mark class="cited">Trawler</mark></td><td>9|5</td>' in html
    assert "<p>Behind.</p>" in html
    assert visible_text(text, media_type=MARKDOWN) == "Ketch 40 Trawler 9|5 Behind."
    html = render("| Boat | Fee |\n|---|---|\n| Ketch | 40 |", media_type=MARKDOWN)
    assert html.count("<th>") == 2
    assert "<th></th>" not in html
