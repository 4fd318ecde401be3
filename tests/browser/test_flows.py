"""What people do on the pages, in a browser."""

import io
import re
import zipfile
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from qa.notices import NOTHING_NEAR
from tests.browser.site import Site, assert_accessible
from tests.support.documents import LIGHTHOUSE, LIGHTHOUSE_QUESTION
from tests.unit.loaders.sample_files import Pdf

pytestmark = pytest.mark.slow

QUAY = (
    "The crane on the quay of Umlet was painted red by Tobias Renn in the spring of 1931. "
    "It lifts nine tonnes and is oiled every Friday."
)
QUAY_QUESTION = "Who painted the crane on the quay of Umlet?"
MILL = "The mill at Tarvik was built by Agda Holm. Its sails turn to the left, and it grinds rye."
MILL_QUESTION = "Who built the mill at Tarvik?"
# A telephone's: what fits there fits a desktop.
NARROW: ViewportSize = {"width": 360, "height": 740}
UNANSWERABLE = "Which enzyme unwinds the double helix of DNA?"


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")
    expect(page.locator(".turn").last.locator(".acts")).to_be_visible()


def test_an_answer_shows_why_it_holds(page: Page) -> None:
    page.goto("/")
    expect(page).to_have_url(re.compile("/ui/ask$"))
    ask(page, LIGHTHOUSE_QUESTION)
    turn = page.locator(".turn")
    expect(turn.locator(".answer-body mark.cited").first).to_contain_text("Orsolya Quill")
    expect(turn.locator(".confidence")).not_to_contain_text("%", use_inner_text=True)
    turn.locator(".confidence summary").click()
    expect(turn.locator(".confidence")).to_have_text(re.compile(r"Confidence: \d+ %$"))
    expect(page.get_by_text("supported")).to_have_count(0)
    quoted = "".join(turn.locator(".answer-body mark.cited").all_text_contents())
    assert quoted in LIGHTHOUSE
    page.locator("#main").press("ArrowRight")
    source = turn.locator("[data-cite]").first
    expect(source).to_be_focused()
    page.keyboard.press("Enter")
    mark = page.locator("#source #passage")
    expect(mark).to_be_in_viewport()
    assert mark.inner_text() == quoted
    page.keyboard.press("Escape")
    expect(page.locator("#source")).to_be_hidden()
    expect(source).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()


def test_markdown_reads_as_it_is_meant_and_the_source_follows_the_question(
    page: Page, site: Site
) -> None:
    text = (
        "# Ferry\n\nThe **ferry** to [Rodabu](https://x.example) sails at *nine*, from pier `B7`."
    )
    file = {"file": ("ferry.md", text.encode())}
    assert site.client.post("/ingest", files=file).status_code == 201
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/ui/ask")
    ask(page, LIGHTHOUSE_QUESTION)
    page.locator(".turn [data-cite]").first.click()
    expect(page.locator("#source #passage")).to_contain_text("The lighthouse at Bavoke")
    ask(page, "When does the ferry to Rodabu sail?")
    turn = page.locator(".turn").last
    expect(turn).to_contain_text("The ferry to Rodabu sails at nine, from pier B7.")
    expect(turn.locator("code")).to_have_text("B7")
    expect(page.locator("#source #source-title")).to_have_text("Ferry")
    marked = page.locator("#source mark.cited").all_text_contents()
    assert "".join(marked) == "The ferry to Rodabu sails at nine, from pier B7."
    assert_accessible(page)
    composer = page.locator(".composer").bounding_box()
    assert composer is not None
    assert composer["height"] < 80


def test_a_chat_is_there_again_after_a_reload_and_goes_when_deleted(page: Page) -> None:
    page.goto("/ui/ask")
    ask(page, LIGHTHOUSE_QUESTION)
    expect(page).to_have_url(re.compile("/ui/chats/[0-9a-f-]{36}$"))
    page.reload()
    expect(page.locator(".turn mark.cited").first).to_contain_text("Orsolya Quill")
    with page.expect_request("**/chat") as sent:
        ask(page, "How tall is it?")
    assert page.url.endswith((sent.value.post_data_json or {})["session_id"])
    page.get_by_text("Rename").click()
    expect(page.get_by_label("Name")).to_have_value(LIGHTHOUSE_QUESTION)
    page.get_by_label("Name").fill("Towers of the coast")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".chat-name")).to_have_text("Towers of the coast")
    page.get_by_role("link", name="Chats").click()
    page.get_by_label("Search chats").fill("towers of")
    page.keyboard.press("Enter")
    expect(page.locator(".chats li")).to_have_count(1)
    page.get_by_role("link", name="Delete Towers of the coast").click()
    page.get_by_role("button", name="Delete chat").click()
    expect(page.get_by_text("Towers of the coast")).to_have_count(0)


def test_a_question_can_be_stopped(page: Page) -> None:
    page.goto("/ui/ask")
    # The answer never comes: what is stopped is not done by then.
    page.route("**/chat", lambda route: None)
    page.fill("#question", LIGHTHOUSE_QUESTION)
    page.keyboard.press("Enter")
    expect(page.locator(".turn .step")).to_have_text("Reading the question …")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator(".turn .step")).to_have_text("Stopped.")
    page.unroute("**/chat")
    ask(page, LIGHTHOUSE_QUESTION)
    expect(page.locator(".turn").last).to_contain_text("Orsolya Quill")


def test_an_answer_is_rated_and_copied(page: Page, site: Site) -> None:
    page.goto("/ui/ask")
    ask(page, LIGHTHOUSE_QUESTION)
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_text("Copied.")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith(f"**{LIGHTHOUSE_QUESTION}**")
    assert "[^1]: Bavoke" in copied
    page.get_by_role("button", name="Not helpful").click()
    page.get_by_label("What was wrong").fill("It leaves out the year.")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Your comment is saved")).to_be_visible()
    page.goto("/ui/quality")
    expect(page.get_by_text("It leaves out the year.")).to_be_visible()


def test_follow_up_questions_and_selected_text_stay_in_the_session(page: Page) -> None:
    page.goto("/ui/ask")
    ask(page, LIGHTHOUSE_QUESTION)
    page.locator(".turn [data-cite]").first.click()
    expect(page.locator("#source #passage")).to_be_visible()
    page.evaluate(
        "document.getSelection().selectAllChildren(document.querySelector('.source-text'))"
    )
    with page.expect_request("**/chat") as sent:
        page.locator("#ask-about").click()
        ask(page, "How many steps does the keeper climb?")
    body = sent.value.post_data_json or {}
    assert body["session_id"]
    assert body["selected_text"].startswith("The lighthouse")
    expect(page.locator(".turn").last).to_contain_text("212 steps")


def test_what_is_not_there_is_said_plainly(page: Page) -> None:
    page.goto("/ui/ask")
    ask(page, UNANSWERABLE)
    expect(page.get_by_text(NOTHING_NEAR)).to_be_visible()
    expect(page.locator(".confidence")).to_have_count(0)
    page.goto("/ui/quality")
    expect(page.get_by_role("link", name=UNANSWERABLE)).to_be_visible()


def test_a_collection_is_tested_with_its_own_documents(page: Page, site: Site) -> None:
    site.client.post("/collections", json={"name": "works"}).raise_for_status()
    page.goto("/ui/quality?collection=works")
    expect(page.get_by_role("button", name="Test this collection")).to_have_count(0)
    file = ("works.md", f"# Works\n\n## Keeping the lamp\n\n{LIGHTHOUSE}")
    added = site.client.post("/ingest", files={"file": file}, data={"collection": "works"})
    assert added.status_code == 201
    page.reload()
    page.get_by_role("button", name="Test this collection").click()
    expect(page.get_by_role("button", name="Test again")).to_be_visible()
    expect(page.locator("#benchmark .metrics")).to_contain_text("1 of 1")
    page.get_by_text("Questions and answers").click()
    expect(page.locator("#benchmark .cells")).to_contain_text("Works say about Keeping the lamp?")
    assert_accessible(page)


def test_the_chosen_collection_stays_and_suggests_its_questions(page: Page, site: Site) -> None:
    site.client.post("/collections", json={"name": "shore"}).raise_for_status()
    site.ingest(LIGHTHOUSE, title="Tower", collection="shore")
    page.goto("/ui/ask")
    page.get_by_label("Collection").select_option("shore")
    expect(page.locator("#examples")).to_contain_text("What is Tower about?")
    ask(page, LIGHTHOUSE_QUESTION)
    page.get_by_role("link", name="New chat").click()
    expect(page).to_have_url(re.compile("/ui/ask$"))
    expect(page.get_by_label("Collection")).to_have_value("shore")
    expect(page.locator("#examples")).to_contain_text("What is Tower about?")
    page.goto("/ui/search")
    expect(page.get_by_label("Collection")).to_have_value("shore")


def test_tags_narrow_a_question(page: Page) -> None:
    page.goto("/ui/ask")
    page.locator(".picker summary").click()
    page.get_by_label("coast").check()
    page.keyboard.press("Escape")
    with page.expect_request("**/chat") as sent:
        ask(page, LIGHTHOUSE_QUESTION)
    assert (sent.value.post_data_json or {})["tags"] == ["coast"]


def test_search_marks_terms_and_filters(page: Page) -> None:
    page.goto("/ui/search")
    page.get_by_label("Search for").fill("rye bread")
    page.keyboard.press("Enter")
    first = page.locator(".result").first
    expect(first).to_contain_text("Lindow")
    expect(first.locator("mark").first).to_have_text("rye")
    expect(page).to_have_url(re.compile("q=rye"))
    page.locator("input[name=threshold]").fill("1")
    expect(page.get_by_text("No passages found at this similarity")).to_be_visible()
    page.locator("input[name=threshold]").fill("0")
    page.get_by_label("Improve ranking").check()
    expect(first).to_contain_text("reranker")


def test_mentions_are_counted_grouped_and_opened(page: Page) -> None:
    page.goto("/ui/search?q=rye+bread")
    page.get_by_role("link", name="Count these words").click()
    expect(page.locator(".count")).to_contain_text("mentions “rye bread”, 1 time in all")
    page.get_by_label("Group by").select_option("collection")
    expect(page.locator(".metrics")).to_contain_text("default")
    with page.expect_download() as saved:
        page.get_by_role("link", name="Download the groups").click()
    assert saved.value.path().read_text().startswith("group,document_count,mention_count")
    page.locator(".result a").first.click()
    expect(page.locator("mark").first).to_have_text("rye bread")
    page.go_back()
    page.locator("input[name=amount]").fill("over 500 EUR")
    page.get_by_role("button", name="Count", exact=True).click()
    expect(page.locator(".count")).to_contain_text("named “rye bread” state an amount over 500 EUR")


def test_files_are_taken_in_with_their_state_shown(page: Page, tmp_path: Path) -> None:
    good, bad = tmp_path / "tide table.md", tmp_path / "broken.pdf"
    good.write_text("# Tides\n\nHigh water at Bavoke comes at a quarter past nine on Tuesdays.")
    bad.write_bytes(b"%PDF-1.4 and nothing of the kind")
    page.goto("/ui/library")
    option = page.locator("#collection option", has_text="default")
    count = int(option.inner_text().rpartition("(")[2].rstrip(") \n"))
    page.set_input_files("#file", [good, bad])
    work = page.locator("#work li")
    expect(work.filter(has_text="tide table.md").locator(".state-ready")).to_be_visible()
    failed = work.filter(has_text="broken.pdf").first
    expect(failed.locator(".state-failed")).to_be_visible()
    expect(failed.locator(".work-reason")).to_contain_text("PDF")
    expect(page.get_by_role("button", name="Retry Upload broken.pdf")).to_have_count(0)
    expect(page.locator("#documents")).to_contain_text("Tides")
    expect(option).to_have_text(f"default ({count + 1})")
    page.goto("/ui/jobs")
    expect(page.locator("#jobs")).to_contain_text("Upload broken.pdf")


def test_a_collection_is_renamed(watched: tuple[Page, object], site: Site) -> None:
    page, _ = watched
    page.set_viewport_size(NARROW)
    site.client.post("/collections", json={"name": "drafts"})
    page.goto("/ui/library")
    page.get_by_text("Rename a collection").click()
    form = page.locator("form[action='/ui/library/rename']")
    form.get_by_label("Collection").select_option("drafts")
    form.get_by_label("New name").fill("default")
    form.get_by_role("button", name="Rename").click()
    expect(page.locator(".problem")).to_contain_text("already exists")
    page.goto("/ui/library?collection=drafts")
    page.get_by_text("Rename a collection").click()
    form.get_by_label("New name").fill("papers")
    form.get_by_role("button", name="Rename").click()
    expect(page.locator("#collection")).to_have_value("papers")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_a_page_says_that_the_server_is_gone_until_it_is_back(
    watched: tuple[Page, object],
) -> None:
    page, _ = watched
    page.goto("/ui/library")
    for is_gone in (True, False):
        page.context.set_offline(is_gone)
        page.evaluate("htmx.trigger('#work', 'refresh')")
        expect(page.get_by_text("Cannot reach the server.")).to_have_count(int(is_gone))


def test_a_text_is_pasted_tagged_and_deleted(page: Page) -> None:
    page.goto("/ui/library")
    page.get_by_text("Paste text").click()
    page.get_by_label("Title", exact=True).fill("Harbour note")
    page.get_by_label("Text", exact=True).fill("The harbour of Bavoke is dredged each spring. " * 3)
    page.get_by_role("button", name="Save text").click()
    expect(page.locator("h1")).to_have_text("Harbour note")
    expect(page.locator("#text [id^=chunk-]")).to_have_count(1)
    page.get_by_label("Tags").fill("Port, spring")
    page.get_by_role("button", name="Save tags").click()
    expect(page.get_by_label("Tags")).to_have_value("port, spring")
    page.get_by_role("link", name="Delete document").click()
    expect(page.locator(".goes")).to_contain_text("1 vector")
    page.get_by_role("button", name="Delete document").click()
    expect(page.locator("#documents")).not_to_contain_text("Harbour note")


def test_a_refused_text_stays_in_its_box(watched: tuple[Page, object]) -> None:
    page, _ = watched
    page.goto("/ui/library")
    page.get_by_text("Paste text").click()
    page.get_by_label("Text", exact=True).fill("too short")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#notice")).to_contain_text("at least 40")
    expect(page.get_by_label("Text", exact=True)).to_have_value("too short")


def test_documents_that_are_selected_by_keyboard_are_tagged_and_moved(
    page: Page, site: Site
) -> None:
    site.client.post("/collections", json={"name": "archive"})
    for name in ("Ebb", "Flood"):
        site.ingest(f"{name} tables of the harbour of Bavoke, for each day.", title=f"{name} table")
    page.goto("/ui/library?q=tables+of+the+harbour&sort=name")
    bar = page.get_by_role("form", name="Selected documents")
    expect(bar).to_be_hidden()
    page.get_by_label("Select Ebb table").focus()
    page.keyboard.press("Space")
    expect(bar).to_contain_text("1 selected")
    page.get_by_label("Select all on this page").press("Space")
    expect(bar).to_contain_text("2 selected")
    page.get_by_label("Tags for the selected documents").fill("tides")
    page.get_by_role("button", name="Add tags").press("Enter")
    expect(page.locator("#documents .tag", has_text="tides")).to_have_count(2)
    expect(page.locator("#work")).to_contain_text("Tag 2 documents tides")
    page.get_by_label("Select all on this page").check()
    page.get_by_label("Collection to move to").select_option("archive")
    page.get_by_role("button", name="Move", exact=True).click()
    expect(page.locator("#work")).to_contain_text("Move 2 documents to archive")
    expect(page.locator("#documents .place-name", has_text="archive")).to_have_count(2)
    page.get_by_role("columnheader", name="Name").get_by_role("link").press("Enter")
    expect(page.locator("#documents a.name").first).to_have_text("Flood table")
    expect(page).to_have_url(re.compile("sort=-name"))
    expect(page.locator("#sort-name")).to_be_focused()
    page.get_by_role("button", name="Clear finished").click()
    expect(page.locator("#work li")).to_have_count(0)


def test_a_pdf_opens_at_its_page_with_the_quote_marked(page: Page, tmp_path: Path) -> None:
    file = tmp_path / "pilot book.pdf"
    pdf = Pdf().line("Pilot book", 740, size=24).page()
    file.write_bytes(pdf.line("Keep the white sector of Bavoke light ahead.", 700).bytes())
    page.goto("/ui/library")
    page.set_input_files("#file", [file])
    row = page.locator("#documents tr", has_text="pilot book.pdf")
    expect(row.locator(".state-completed")).to_be_visible()
    row.get_by_role("link", name="Pilot book", exact=True).click()
    page.goto(f"{page.url}?start=17&end=33#passage")
    expect(page.locator("#passage")).to_have_text("the white sector")
    page.get_by_role("link", name="Pages").click()
    expect(page.locator(".sheet-mark")).to_have_count(1)
    drawn = page.locator("svg.sheet image").evaluate(
        "async (image) => { const drawn = new Image(); drawn.src = image.href.baseVal;"
        " await drawn.decode(); return [drawn.naturalWidth, drawn.naturalHeight]; }"
    )
    assert drawn == [1200, 1553]
    page.set_viewport_size(NARROW)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    assert_accessible(page)
    expect(page.locator("#mark")).to_be_in_viewport()
    page.get_by_role("link", name="Previous page").click()
    expect(page.get_by_text("Page 1 of 2")).to_be_visible()


def test_all_collections_are_asked_and_one_document(page: Page, site: Site) -> None:
    site.client.post("/collections", json={"name": "quay"})
    site.client.post("/ingest", json={"text": QUAY, "title": "Quay", "collection": "quay"})
    page.set_viewport_size(NARROW)
    page.goto("/ui/ask?collection=*")
    ask(page, QUAY_QUESTION)
    source = page.locator(".turn .source-open").first
    expect(source.locator(".in-collection")).to_have_text("quay")
    expect(page.locator("#scope-shown")).to_have_text("All")
    assert page.locator("#scope-toggle").evaluate("box => box.scrollWidth <= box.clientWidth")
    page.reload()
    expect(page.locator("#collection")).to_have_value("*")
    page.get_by_role("link", name="New chat").click()
    expect(page.locator("#collection")).to_have_value("*")
    page.goto("/ui/library?collection=quay")
    page.get_by_role("link", name="Quay", exact=True).click()
    page.get_by_role("link", name="Ask this document").click()
    expect(page.locator(".only")).to_contain_text("Quay")
    with page.expect_request("**/chat") as sent:
        ask(page, LIGHTHOUSE_QUESTION)
    assert (sent.value.post_data_json or {})["document_id"]
    expect(page.locator(".turn").last).not_to_contain_text("Orsolya Quill")
    expect(page.locator("#scope-shown")).to_have_text("Quay")
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    assert_accessible(page)
    # At the end of the page, the question box covers nothing of the answer.
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    acts = page.locator(".turn .acts").last.bounding_box()
    composer = page.locator(".composer").bounding_box()
    assert acts
    assert composer
    assert acts["y"] + acts["height"] <= composer["y"]
    page.locator("#scope-toggle").click()
    page.get_by_role("link", name="All documents").click()
    expect(page.locator(".only")).to_have_count(0)


def test_an_archive_becomes_its_files_with_what_is_refused(page: Page) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(
            "tides/spring.md", "# Spring tide\n\nSpring tides at Umlet rise nine feet."
        )
        archive.writestr("../outside.md", "Not to be read.")
    page.goto("/ui/library")
    file = {"name": "harbour.zip", "mimeType": "application/zip", "buffer": packed.getvalue()}
    page.set_input_files("#file", file)  # type: ignore[arg-type]
    row = page.locator("#documents tr", has_text="Spring tide")
    expect(row.locator(".state-completed")).to_be_visible()
    expect(row.locator(".place-name").first).to_contain_text("tides/spring.md")
    expect(page.locator("#work")).to_contain_text("outside.md")
    expect(page.locator("#work")).to_contain_text("outside of the archive")


def test_a_grid_is_made_filled_opened_and_downloaded(page: Page, site: Site) -> None:
    site.client.post("/collections", json={"name": "pier"})
    for text, title in ((LIGHTHOUSE, "Bavoke"), (MILL, "Mill")):
        site.client.post("/ingest", json={"text": text, "title": title, "collection": "pier"})
    page.set_viewport_size(NARROW)
    page.goto("/ui/search")
    page.get_by_role("link", name="grid", exact=True).click()
    page.get_by_label("Name").fill("Builders")
    page.get_by_label("Questions").fill(f"{LIGHTHOUSE_QUESTION}\n\n{MILL_QUESTION}\n")
    page.get_by_label("Collection").select_option("pier")
    assert_accessible(page)
    page.get_by_role("button", name="Create grid").click()
    row = page.get_by_role("row", name="Bavoke")
    expect(row.get_by_role("link", name="Orsolya Quill")).to_be_visible()
    expect(row.get_by_role("link", name="not found")).to_be_visible()
    expect(page.get_by_role("row", name="Mill").locator("td").last).to_contain_text("Agda Holm")
    expect(page.locator("#state .state")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    assert_accessible(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download XLSX").click()
    assert download.value.suggested_filename == "builders.xlsx"
    row.get_by_role("link", name="Orsolya Quill").click()
    expect(page.locator(".turn mark.cited").first).to_contain_text("Orsolya Quill")
    expect(page.locator(".crumb")).to_contain_text("Builders / Bavoke /")
    page.get_by_role("link", name="Builders").click()
    page.get_by_text("Change the questions").click()
    page.get_by_label("Questions").fill(LIGHTHOUSE_QUESTION)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".cells thead th")).to_have_count(2)
    page.get_by_text("Change the questions").click()
    page.get_by_role("button", name="Delete grid").click()
    expect(page.get_by_role("link", name="Builders")).to_have_count(0)


def test_a_question_stands_until_it_is_stopped(page: Page) -> None:
    page.set_viewport_size(NARROW)
    page.goto("/ui/ask?collection=default")
    ask(page, LIGHTHOUSE_QUESTION)
    page.get_by_role("button", name="Tell me if it changes").click()
    expect(page.locator(".turn .acts .said")).to_contain_text("asks this again")
    page.goto("/ui/chats")
    page.get_by_role("link", name="Standing questions").click()
    panel = page.get_by_role("article", name=LIGHTHOUSE_QUESTION)
    expect(panel.locator("blockquote")).to_contain_text("Orsolya Quill")
    expect(panel).to_contain_text("No change yet")
    assert page.evaluate("document.documentElement.scrollWidth") == NARROW["width"]
    assert_accessible(page)
    panel.get_by_role("button", name="Stop asking").click()
    expect(page.get_by_role("article")).to_have_count(0)
