import pytest

from corpus.errors import EmptyDocument, UnreadableFile
from corpus.loaders.blocks import Block
from corpus.loaders.formats.html_blocks import html_blocks, html_pieces, parse_html
from tests.unit.loaders.sample_files import headings, loaded, texts

pytestmark = pytest.mark.usefixtures("in_process")

PROSE = "The mallard is a dabbling duck that breeds throughout the temperate zones of the world. "


def blocks(source: str) -> list[Block]:
    return html_blocks(source)


def test_headings_and_paragraphs_are_blocks_without_markup() -> None:
    assert blocks("<h1>A <b>big</b>\n title</h1><p>One <i>two</i>\n<a href='x'>three</a>.</p>") == [
        Block("A big title", 1, "A big title"),
        Block("One two three."),
    ]


def test_line_breaks_stay_and_other_space_does_not() -> None:
    assert blocks("<p>  one   two<br> three </p>") == [Block("one two\nthree")]


def test_text_beside_block_elements_is_not_lost() -> None:
    assert [b.text for b in blocks("<div>before<p>inside</p>after</div>tail")] == [
        "before",
        "inside",
        "after",
        "tail",
    ]


def test_lists_are_one_block_with_marks_and_depth() -> None:
    source = "<ul><li>one<ul><li>deep</li></ul></li><li>two</li></ul><ol start=3><li>x<li>y</ol>"
    assert [b.text for b in blocks(source)] == ["- one\n  - deep\n- two", "3. x\n4. y"]


def test_a_term_names_itself_and_what_is_said_of_it() -> None:
    source = (
        "<dl>All: <dt>-v<dd><p>Talk.<p>More.<dt>-q</dt> <dt>--quiet</dt> <dd>Hush.</dl><p>After."
    )
    assert [(b.text, b.labels) for b in blocks(source)] == [
        ("All:", ()),
        ("-v", ("-v",)),
        ("Talk.", ("-v",)),
        ("More.", ("-v",)),
        ("-q", ("-q, --quiet",)),
        ("--quiet", ("-q, --quiet",)),
        ("Hush.", ("-q, --quiet",)),
        ("After.", ()),
    ]


def test_terms_inside_of_a_definition_are_under_its_term() -> None:
    source = "<dl><div><dt>outer</dt><dd><dl><dt>inner</dt><dd>x</dd></dl>y</dd></div></dl>"
    assert [(b.text, b.labels) for b in blocks(source)] == [
        ("outer", ("outer",)),
        ("inner", ("outer", "inner")),
        ("x", ("outer", "inner")),
        ("y", ("outer",)),
    ]


def test_terms_of_which_nothing_is_said_name_nothing() -> None:
    assert [b.labels for b in blocks("<dl><dt>one<dt>two</dl>")] == [(), ()]


def test_lists_of_terms_a_hundred_deep_have_few_labels_each() -> None:
    source = "".join(f"<dl><dt>{n}<dd>" for n in range(100))
    assert max(len(block.labels) for block in blocks(source)) < 10


def test_a_summary_and_a_figure_caption_name_what_is_beside_them() -> None:
    source = (
        "<details><summary>Old versions</summary><p>None.</p></details>"
        "<figure><pre>x = 1</pre><figcaption>Setting x</figcaption></figure>"
    )
    assert [b.labels for b in blocks(source)] == [("Old versions",)] * 2 + [("Setting x",)] * 2


def test_paragraph_of_one_short_bold_line_is_a_heading_of_the_lowest_level() -> None:
    source = "<p><a id='x'></a><b>(1) How do I <i>start</i></b></p><p><strong>Keys</strong></p>"
    assert headings_of(source) == [(6, "(1) How do I start"), (6, "Keys")]


@pytest.mark.parametrize(
    "source",
    [
        "<p><b>Never do this.</b></p>",
        "<p><b>Note</b> that it works</p>",
        "<p><b>one</b> <b>two</b></p>",
        "<p><b>one<br>two</b></p>",
        "<p><b>Table 2. Ducks</b></p>",
        "<p><b>" + "word " * 40 + "</b></p>",
        "<p><b>***</b></p>",
    ],
)
def test_bold_sentences_words_and_captions_are_no_headings(source: str) -> None:
    assert headings_of(source) == []


def test_items_of_several_blocks_keep_their_marks() -> None:
    source = "<ol start=2><li><p>Stop it:</p><pre>stop</pre><li><p>One.</p><p>Two.</p></ol>"
    assert [b.text for b in blocks(source)] == ["2. Stop it:", "stop", "3. One.", "Two."]


def test_lists_that_hold_headings_give_them_their_own_blocks() -> None:
    assert headings_of("<ul><li><h2>Part</h2><p>Text</p></li></ul>") == [(2, "Part")]


def headings_of(source: str) -> list[tuple[int, str]]:
    return [(b.heading_level, b.heading_text) for b in blocks(source) if b.heading_level]


def test_breaks_in_code_stay_single_beside_a_menu() -> None:
    source = "<html><body><nav><a href='/'>Home</a></nav><pre>one<br>two</pre></body></html>"
    assert [block.text for block in loaded(source, "a.html").blocks] == ["one\ntwo"]


def test_listings_keep_their_lines() -> None:
    assert blocks("<pre><code>\ndef f():\n    return 1\n</code></pre>") == [
        Block("def f():\n    return 1")
    ]


def test_tables_are_markdown_rows_and_cells_that_span_are_repeated() -> None:
    source = (
        "<table><caption>Ducks</caption><tr><th>Year<th>Count</tr><tr><td>2020<td>a | b</tr>"
        "<tr><td></td><td></td></tr></table>"
    )
    assert [b.text for b in blocks(source)] == [
        "Ducks",
        "| Year | Count |\n| --- | --- |\n| 2020 | a \\| b |",
    ]
    source = (
        "<table><tr><th>A</th><th colspan=2>B</th></tr>"
        "<tr><td rowspan=2>1</td><td>2</td><td>3</td></tr><tr><td>4</td><td>5</td></tr></table>"
    )
    assert [b.text for b in blocks(source)] == [
        "| A | B | B |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |"
    ]


def test_a_long_table_repeats_its_header() -> None:
    rows = "".join(f"<tr><td>{n}</td><td>{'word ' * 20}</td></tr>" for n in range(30))
    found = blocks(f"<table><tr><th>No</th><th>Text</th></tr>{rows}</table>")
    assert len(found) > 2
    assert all(b.text.startswith("| No | Text |\n| --- |") for b in found)


def test_tables_that_lay_out_a_page_are_no_tables() -> None:
    found = blocks("<table><tr><td><h2>Part</h2>Text</td><td>More</td></tr></table>")
    assert [b.text for b in found] == ["Part", "Text", "More"]


def test_what_a_browser_hides_is_left_out() -> None:
    source = (
        "<style>p{}</style><script>x</script><p hidden>a</p><p style='display: none'>b</p>"
        "<template>c</template><p>shown</p>"
    )
    assert [b.text for b in blocks(source)] == ["shown"]


def test_mathml_gives_its_tex_source() -> None:
    source = "<p>Thus <math alttext='x^2'><mi>x</mi><mn>2</mn></math> holds.</p>"
    assert blocks(source) == [Block("Thus x^2 holds.")]


def page(main: str, *, head: str = "") -> str:
    menu = "<nav><ul>" + "<li><a href='/x'>Menu item</a></li>" * 20 + "</ul></nav>"
    footer = "<footer><p>Copyright notice and imprint of the whole website</p></footer>"
    return f"<html><head>{head}</head><body>{menu}<main>{main}</main>{footer}</body></html>"


def test_menus_and_footers_are_left_out() -> None:
    document = loaded(
        page(f"<h1>Mallards</h1><p>{PROSE * 3}</p><h2>Range</h2><p>{PROSE * 4}</p>"), "a.html"
    )
    assert headings(document) == [(1, "Mallards"), (2, "Range")]
    assert not any("Menu item" in text or "Copyright" in text for text in texts(document))


def test_tables_and_listings_between_paragraphs_are_kept() -> None:
    middle = "<table><tr><th>a<th>b</tr><tr><td>1<td>2</tr></table><pre>code here</pre>"
    document = loaded(
        page(f"<h1>T</h1><p>{PROSE * 3}</p>{middle}<p>{PROSE * 4} End.</p>"), "a.html"
    )
    assert any(text.startswith("| a | b |") for text in texts(document))
    assert any("code here" in text for text in texts(document))


def test_short_steps_between_paragraphs_are_kept() -> None:
    steps = "<ol><li><p>Generate the key:</p><pre>certtool -p</pre></li></ol>"
    document = loaded(page(f"<h1>T</h1><p>{PROSE * 3}</p>{steps}<p>{PROSE * 4}</p>"), "a.html")
    assert "1. Generate the key:" in texts(document)


def test_elements_with_the_role_of_menus_are_left_out() -> None:
    menu = "<div role='navigation'><h3>Next topic</h3><p><a href='/a'>Ducks</a></p></div>"
    footer = "<div role='contentinfo'>Made by us.</div>"
    paragraphs = "".join(f"<p>{number} {PROSE * 3}</p>" for number in range(9))
    source = f"<html><body>{menu}<h1>Mallards</h1>{paragraphs}{menu}{footer}</body></html>"
    document = loaded(source, "a.html")
    assert headings(document) == [(1, "Mallards")]
    assert len(texts(document)) == 10


def test_a_table_of_contents_is_left_out_and_its_headings_stay() -> None:
    items = "".join(f"<li><a href='#{name}'>{name}</a>" for name in ("Food", "Range", "Calls"))
    sections = "".join(f"<h2>{name}</h2><p>They vary.</p>" for name in ("Food", "Range", "Calls"))
    document = loaded(f"<html><body><ul>{items}</ul>{sections}</body></html>", "a.html")
    assert texts(document) == ["Food", "They vary.", "Range", "They vary.", "Calls", "They vary."]


def test_anchors_without_an_address_are_no_links() -> None:
    source = "<h2><a name='food'>Food</a></h2><p><a id='x'>Seeds and worms.</a></p>"
    root = parse_html(source)
    assert root is not None
    assert [piece.link_share for piece in html_pieces(root)] == [0.0, 0.0]


def test_a_page_without_menus_is_kept_whole() -> None:
    document = loaded("<html><body><h1>T</h1><p>Short.</p><p>x</p></body></html>", "a.html")
    assert texts(document) == ["T", "Short.", "x"]


def test_a_page_of_little_text_falls_back_to_all_of_it() -> None:
    document = loaded(page("<p>Closed on Mondays.</p>"), "a.html")
    assert "Closed on Mondays." in texts(document)


def test_the_head_gives_title_and_metadata() -> None:
    head = (
        "<title>On  Ducks</title><meta name=author content='Ann'><meta name=keywords "
        "content='a, b'><meta property='article:published_time' content='2024-01-02'>"
        "<link rel=canonical href='https://example.org/d'>"
    )
    document = loaded(f"<html lang=en><head>{head}</head><body><p>x</p></body></html>", "a.html")
    assert document.title == "On Ducks"
    assert document.tags == ()
    assert document.metadata == {
        "author": "Ann", "created": "2024-01-02", "keywords": ["a", "b"], "language": "en",
        "url": "https://example.org/d",
    }  # fmt: skip


def test_a_page_in_a_declared_encoding_is_decoded() -> None:
    source = "<html><head><meta charset=windows-1251></head><body><p>Привет, мир</p></body></html>"
    assert texts(loaded(source.encode("cp1251"), "a.html")) == ["Привет, мир"]


@pytest.mark.parametrize(
    "source", ["<html><body></body></html>", "<html><script>x</script></html>"]
)
def test_a_page_without_text_is_empty(source: str) -> None:
    with pytest.raises(EmptyDocument, match="no text"):
        loaded(source, "a.html")


def test_text_hundreds_of_elements_deep_is_not_lost() -> None:
    document = loaded("<p>before" + "<b>" * 600 + "deep" + "</b>" * 600 + "<p>after", "a.html")
    assert "".join(texts(document)).replace("\n", "") == "beforedeepafter"


def test_text_thousands_of_elements_deep_is_refused_not_dropped() -> None:
    with pytest.raises(UnreadableFile, match="deep"):
        loaded("<p>before</p>" + "<div>" * 5000 + "deep", "a.html")
