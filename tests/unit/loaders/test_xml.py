import pytest

from corpus.errors import UnreadableFile
from tests.unit.loaders.sample_files import LAUGHS, headings, loaded, texts

pytestmark = pytest.mark.usefixtures("in_process")


def test_articles_are_read_by_their_sections() -> None:
    source = (
        '<!DOCTYPE article PUBLIC "-//NLM//DTD JATS//EN" "JATS.dtd"><article><front>'
        "<article-title>On Ducks</article-title></front><body><sec><title>Methods</title><p>We "
        "<i>looked</i>&#160;on.</p><sec><title>Birds</title><p>Two.</p></sec></sec></body></article>"
    )
    document = loaded(source, "a.nxml")
    assert document.title == "On Ducks"
    assert headings(document) == [(1, "On Ducks"), (2, "Methods"), (3, "Birds")]
    assert texts(document)[2] == "We looked on."


def test_records_and_tables_are_lines() -> None:
    source = (
        "<list><bird><name>Duck</name><size>60</size></bird><bird><name>Swan</name></bird></list>"
    )
    assert texts(loaded(source, "a.xml")) == ["name: Duck; size: 60", "name: Swan"]
    source = "<doc><table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table></doc>"
    assert texts(loaded(source, "a.xml")) == ["| a | b |\n| --- | --- |\n| 1 | 2 |"]


def test_feeds_give_their_entries_without_markup() -> None:
    source = (
        "<rss><channel><title>News</title><description>About birds</description><item><title>One"
        "</title><link>http://x</link><description>&lt;p&gt;Fine &amp;amp; dry&lt;/p&gt;"
        "</description></item></channel></rss>"
    )
    document = loaded(source, "a.rss")
    assert document.title == "News"
    assert texts(document) == ["About birds", "One", "Fine & dry"]
    assert headings(document) == [(2, "One")]


def test_entities_of_html_are_expanded_and_unparsed_ones_do_no_harm() -> None:
    assert texts(loaded("<a>x&nbsp;y &eacute; &unheard; &lt;</a>", "a.xml")) == [
        "x y é [unheard] <"
    ]
    source = '<!DOCTYPE a [<!ENTITY p SYSTEM "p.tif" NDATA TIF>]><a>Text</a>'
    assert texts(loaded(source, "a.xml")) == ["Text"]


@pytest.mark.parametrize(
    "source",
    [
        LAUGHS,
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/hostname">]><a>&b;</a>',
        '<!DOCTYPE a [<!ENTITY % b SYSTEM "file:///etc/hostname"> %b;]><a/>',
        '<!DOCTYPE a [<!ENTITY p SYSTEM "p" NDATA x><!ENTITY b "c">]><a>&b;</a>',
    ],
)
def test_declared_entities_are_refused(source: str) -> None:
    with pytest.raises(UnreadableFile, match="entities"):
        loaded(source, "a.xml")


@pytest.mark.parametrize("encoding", ["utf-16", "iso8859-5", "utf-8"])
def test_xml_is_read_in_the_encoding_it_declares(encoding: str) -> None:
    source = f'<?xml version="1.0" encoding="{encoding}"?><a>Привет</a>'
    assert texts(loaded(source.encode(encoding), "a.xml")) == ["Привет"]


@pytest.mark.parametrize("source", ["<a><b></a>", "<a>", "no xml at all"])
def test_broken_xml_is_unreadable(source: str) -> None:
    with pytest.raises(UnreadableFile, match="well-formed"):
        loaded(source, "a.xml")
