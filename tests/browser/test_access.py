"""Everyone can use the pages, and no text of theirs is ever more than text."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.site import Seen, Site, assert_accessible
from tests.browser.test_flows import NARROW
from tests.support.documents import LIGHTHOUSE_QUESTION
from tests.support.drawing import examples
from tests.unit.loaders.sample_files import Pdf

pytestmark = pytest.mark.slow

# Each goes into a title, a text, a tag, a file name and a query; six in each run, all 20 in a
# campaign.
PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><script>alert(1)</script>',
    "![x](http://evil.invalid/pixel.png)",
    "</textarea><script>alert(1)</script>",
    "<div hx-get=http://evil.invalid/ hx-trigger=load>",
    "<svg onload=alert(1)>",
    "'><img src=//evil.invalid/x onerror=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<body onload=alert(1)>",
    "<a href=javascript:alert(1) autofocus onfocus=alert(1)>x</a>",
    "<style>@import '//evil.invalid/s.css';</style>",
    "<link rel=stylesheet href=//evil.invalid/s.css>",
    "[x](javascript:alert(1))",
    "{{7*7}}{% debug %}",
    "</title><script>alert(1)</script>",
    "<details open ontoggle=alert(1)>",
    "<div hx-on::load=alert(1)>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<meta http-equiv=refresh content='0;url=http://evil.invalid/'>",
][: examples(6)]
LOOKS = {"desktop, light": (1280, 800, "light"), "narrow, dark": (360, 740, "dark")}


@dataclass(frozen=True)
class Places:
    """Addresses of a chat, of an answer in it, of a document with pages, and one with a table."""

    chat: str
    answer: str
    document: str
    table: str


# Wider than any page.
TABLE = f"# Berths\n\n|{' Fee of a berth |' * 20}\n|{'---|' * 20}\n|{' crowns |' * 20}\n"


@pytest.fixture(scope="module")
def places(site: Site, browser: Browser) -> Iterator[Places]:
    sent = site.client.post("/ingest", files={"file": ("berths.md", TABLE.encode())})
    table = f"/ui/documents/{sent.json()['document_id']}"
    page = browser.new_page(base_url=site.url)
    page.goto("/ui/library")
    book = Pdf().line("Keep the white sector of Bavoke light ahead.", 700).bytes()
    page.set_input_files("#file", {"name": "pilot.pdf", "mimeType": "", "buffer": book})
    row = page.locator("#documents tr", has_text="pilot.pdf")
    row.locator(".state-completed").wait_for()
    document = row.locator("a.name").get_attribute("href") or ""
    page.goto("/ui/ask")
    page.fill("#question", LIGHTHOUSE_QUESTION)
    page.keyboard.press("Enter")
    answer = page.locator(".turn .acts a", has_text="Permalink").get_attribute("href") or ""
    expect(page).to_have_url(re.compile("/ui/chats/"))
    yield Places(page.url, answer, document, table)
    page.close()


@pytest.fixture(params=LOOKS.values(), ids=list(LOOKS))
def screen(page: Page, request: pytest.FixtureRequest) -> Page:
    """A page as it looks on one screen and another."""
    width, height, scheme = request.param
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    return page


def test_axe_finds_nothing_serious_on_any_page(screen: Page, places: Places) -> None:
    paths = [
        "/ui/ask", "/ui/chats", f"{places.chat}/delete", "/ui/search?q=fee+of+a+berth",
        "/ui/library", "/ui/library/formats", places.answer, f"{places.document}?start=0&end=10",
        f"{places.document}/pages/1?start=0&end=20", f"{places.document}/delete", "/ui/jobs",
        "/ui/quality", "/ui/rules", "/ui/rules/new", places.table, "/ui/webhooks",
    ]  # fmt: skip
    for path in paths:
        screen.goto(path)
        assert screen.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
        assert_accessible(screen)


def test_axe_finds_nothing_serious_in_what_opens(screen: Page, places: Places) -> None:
    screen.goto("/ui/library")
    screen.locator("td.pick input").first.check()
    for name in ("Paste text", "New collection", "Model and chunking"):
        screen.get_by_text(name).click()
    assert_accessible(screen)
    screen.goto(places.chat)
    screen.get_by_text("Rename").click()
    screen.locator(".turn [data-cite]").first.click()
    expect(screen.locator("#source #passage")).to_be_visible()
    assert_accessible(screen)


def test_a_source_that_covers_the_page_keeps_the_focus(page: Page, places: Places) -> None:
    page.set_viewport_size(NARROW)
    page.goto(places.chat)
    page.locator(".turn [data-cite]").first.press("Enter")
    expect(page.locator(".source-text")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("button", name="Close source")).to_be_focused()
    for _ in range(6):
        page.keyboard.press("Tab")
        assert page.evaluate("!document.activeElement.closest('header.top, #talk')")
    page.keyboard.press("Escape")
    expect(page.locator(".turn [data-cite]").first).to_be_focused()


def test_a_form_needs_its_token(site: Site) -> None:
    assert site.client.post("/ui/library/paste", data={"text": "a" * 50}).status_code == 403


def test_the_keyboard_alone_reaches_the_content(page: Page) -> None:
    page.goto("/ui/library")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    reached = set()
    for _ in range(20):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert {"file", "into", "SUMMARY", "q"} <= reached


def test_motion_is_reduced_where_that_is_wished(page: Page) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto("/ui/ask")
    page.evaluate("document.querySelector('#turns').innerHTML = '<p class=\"answer is-waiting\">'")
    name = "getComputedStyle(document.querySelector('.answer'), '::after').animationName"
    assert page.evaluate(name) == "none"


@pytest.fixture
def hostile(site: Site) -> Callable[[], list[str]]:
    """Put the payloads into titles, texts, tags and file names; returns the documents."""

    def ingest() -> list[str]:
        documents = [
            site.ingest(
                f"Bread number {number}: {payload} is baked.", title=payload, tags=[payload[:60]]
            )
            for number, payload in enumerate(PAYLOADS)
        ]
        for number, payload in enumerate(PAYLOADS):
            file = (
                f"{payload.replace('/', '')}.txt",
                f"A file about bread, the {number}th.".encode(),
            )
            reply = site.client.post(
                "/ingest", files={"file": file}, data={"source_uri": f"{payload}/{payload}"}
            )
            assert reply.status_code == 201, reply.text
            documents.append(reply.json()["document_id"])
        return documents

    return ingest


def test_hostile_text_stays_text(
    watched: tuple[Page, Seen], site: Site, hostile: Callable[[], list[str]]
) -> None:
    """Payloads in each of title, text, tag, file name and search query; two in a question."""
    page, seen = watched
    documents = hostile()
    for path in ("/ui/library", "/ui/library?sort=name", "/ui/search?q=bread+baked", "/ui/quality"):
        page.goto(path)
    for document_id in documents:
        page.goto(f"/ui/documents/{document_id}?start=0&end=20")
    for payload in PAYLOADS:
        page.goto("/ui/search")
        page.get_by_label("Search for").fill(payload)
        page.keyboard.press("Enter")
        expect(page.locator("#results .result, #results .empty").first).to_be_visible()
    page.goto("/ui/ask")
    page.fill("#question", f"{PAYLOADS[0]} {PAYLOADS[1]} what is baked?")
    page.keyboard.press("Enter")
    expect(page.locator(".turn .acts")).to_be_visible()
    assert (seen.dialogs, seen.foreign) == ([], [])
