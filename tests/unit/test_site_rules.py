"""Which addresses belong to a site, what its robots.txt allows, and what its files lead to."""

import gzip

import pytest

from corpus.crawl.robots import read_robots
from corpus.crawl.scope import Scope, is_same_path, kind_without_text, normalize_url, page_key
from corpus.errors import UnreadableFile
from corpus.loaders import link_parser
from corpus.loaders.link_parser import read_links, read_sitemap

BASE = "https://a.example/docs/guide/intro.html"


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ("part#end", "https://a.example/docs/guide/part"),
        ("../", "https://a.example/docs/"),
        ("/docs/./x/../y", "https://a.example/docs/y"),
        ("/docs/%2e%2e/%41%2fb%3f", "https://a.example/A%2Fb%3F"),
        ("//A.EXAMPLE:443/ä b\\c", "https://a.example/%C3%A4%20b%5Cc"),
        ("http://a.example:8080", "http://a.example:8080/"),
        ("http://a.example:80/x", "http://a.example/x"),
        ("?b=2&a=1&utm_source=x&fbclid=y&&", "https://a.example/docs/guide/intro.html?b=2&a=1"),
        ("http://[2001:db8::1]/", "http://[2001:db8::1]/"),
        ("mailto:a@b.example", ""), ("javascript:x()", ""), ("https://u:p@a.example/", ""),
        ("http://[", ""), ("http://a.example:99999/", ""), ("/" + "x" * 2048, ""),
    ],
)  # fmt: skip
def test_an_address_has_one_form(link: str, found: str) -> None:
    assert normalize_url(link, BASE) == found
    assert normalize_url(found) == found


@pytest.mark.parametrize(
    ("start", "inside", "outside"),
    [
        ("https://a.example/", "https://a.example/x/y?z", "https://b.example/"),
        ("https://a.example/docs/", "https://a.example/docs", "https://a.example/docs-old"),
        ("https://a.example/docs", "https://a.example/docs/x", "https://a.example/doc"),
        (BASE, "https://a.example/docs/guide/x", "https://a.example/docs/"),
        ("https://a.example/v1.2", "http://a.example/v1.2/x", "https://a.example:8443/v1.2/x"),
    ],
)
def test_a_site_is_what_lies_in_the_folder_of_its_address(
    start: str, inside: str, outside: str
) -> None:
    scope = Scope.of(start)
    assert (scope.contains(start), scope.contains(inside), scope.contains(outside)) == (
        True,
        True,
        False,
    )


def test_addresses_of_one_page_are_known() -> None:
    assert page_key("https://a.example/x/index.html") == page_key("http://a.example/x/")
    assert page_key("https://a.example/x?p=1") != page_key("https://a.example/x?p=2")
    assert is_same_path("https://a.example/x/?p=1", "https://a.example/x")
    assert not is_same_path("https://a.example/x", "https://a.example/")
    assert not is_same_path("https://a.example/x", "https://b.example/x")


def test_files_without_text_are_known_by_their_endings() -> None:
    endings = [
        "/a.png",
        "/a.css",
        "/a.tar.gz",
        "/a.mp4",
        "/a.ZIP",
        "/a.html",
        "/a.pdf",
        "/a",
        "/v1.2",
    ]
    kinds = [kind_without_text(f"https://a.example{ending}") for ending in endings]
    assert kinds == ["png", "css", "gz", "mp4", "zip", "", "", "", ""]


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("/private/", "/private/x", "/private"),
        ("/*?", "/x?y", "/x"),
        ("/*.pdf$", "/x/y.pdf", "/y.pdf?z"),
        ("/x$", "/x", "/x/"),
        ("/a*b*c", "/a-b-c", "/a-c-b"),
        ("/*ab$", "/xab", "/abx"),
        ("/ä", "/%C3%A4", "/%C3%A5"),
        ("*" * 2_000 + "z", "/z", "/" + "a" * 2_000),
    ],
)
def test_patterns_of_robots_are_understood(pattern: str, fits: str, fits_not: str) -> None:
    rules = read_robots(f"User-agent: *\nDisallow: {pattern}")
    allowed = [rules.allow(f"https://a.example{path}") for path in (fits, fits_not)]
    assert allowed == [False, True]


def test_the_group_for_us_and_its_longest_pattern_decide() -> None:
    rules = read_robots(
        "\ufeffUser-agent: *\nDisallow: /\n\n# ours\nUser-agent: other\nUser-Agent: PKB # yes\n"
        "disallow: /a\nAllow: /a/b\nDisallow:\nCrawl-delay: 2.5\nno line\n"
        "Sitemap: /one.xml\nUser-agent: last\nDisallow: /c\nCrawl-delay: 99\nSitemap: /two.xml"
    )
    paths = ["/", "/a", "/a/b", "/a/c", "/c"]
    allowed = [path for path in paths if rules.allow(f"https://a.example{path}")]
    assert allowed == ["/", "/a/b", "/c"]
    assert (rules.delay_s, rules.sitemaps) == (2.5, ("/one.xml", "/two.xml"))
    assert read_robots("User-agent: *\nCrawl-delay: soon\nDisallow: /a\nAllow: /a").allow(
        "https://a.example/a"
    )


def test_links_of_a_page_are_read_but_for_those_not_to_be_followed() -> None:
    long = "x" * 2_100
    found = read_links(
        f"""<html><head><base href="/b/"><base href="/c/"><link rel="canonical" href="/d">
        <link rel="icon" href="/i"></head><body><a href="e">E</a><a>no</a>
        <a rel="noopener nofollow" href="f">F</a><area href="g"><a href="{long}">L</a>""".encode()
    )
    assert found == {"links": ["e", "g"], "base": "/b/", "canonical": "/d"}
    silent = b'<meta name="Robots" content="noindex, NOFOLLOW"><a href="e">E</a>'
    assert read_links(silent)["links"] == []
    assert read_links(b"  ") == {"links": [], "base": "", "canonical": ""}


SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def test_sitemaps_are_read_in_each_form() -> None:
    pages = f"<urlset {SPACE}><url><loc> /a </loc></url><url><lastmod>x</lastmod></url></urlset>"
    lists = f"<sitemapindex {SPACE}><sitemap><loc>/m.xml</loc></sitemap></sitemapindex>"
    assert read_sitemap(pages.encode()) == {"pages": ["/a"], "sitemaps": []}
    assert read_sitemap(gzip.compress(lists.encode())) == {"pages": [], "sitemaps": ["/m.xml"]}
    assert read_sitemap(b"\xef\xbb\xbf/a\n\n /b\n") == {"pages": ["/a", "/b"], "sitemaps": []}


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    "<urlset><url><loc>&b;</loc></url></urlset>"
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "http://127.0.0.1/">]><urlset><url>&a;</url></urlset>'


@pytest.mark.parametrize(
    "content",
    [BOMB.encode(), OUTSIDE.encode(), b"<urlset><url>", b"\x1f\x8bnothing"],
    ids=["entities", "of another host", "cut off", "not packed"],
)
def test_hostile_and_broken_sitemaps_are_refused(content: bytes) -> None:
    with pytest.raises(UnreadableFile):
        read_sitemap(content)


def test_sitemaps_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_parser, "MAX_SITEMAP_BYTES", 1_000)
    with pytest.raises(UnreadableFile, match="over 1,000 bytes"):
        read_sitemap(gzip.compress(b"a" * 1_001))
    monkeypatch.setattr(link_parser, "MAX_ENTRIES", 2)
    many = "".join(f"<url><loc>/{number}</loc></url>" for number in range(5))
    assert len(read_sitemap(f"<urlset>{many}</urlset>".encode())["pages"]) == 2
