"""Take screenshots of a running installation with the sample documents.

python -m tests.browser.screenshots http://127.0.0.1:8000 docs/screenshots
"""

import html
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.browser.chromium import chromium

QUESTION = "What does MLOps mean and why does it matter?"
SAMPLE = Path(__file__).parents[2] / "data/documents/what-is-mlops.md"
HANDBOOK = "mlops-handbook.pdf"
MARKED = "Silent failure is the main reason that model quality has to be measured in production"
UNANSWERABLE = "How tall is the Eiffel tower in Paris?"
LOOKS = {"desktop": (1280, 900, "light"), "360": (360, 780, "light"), "dark": (1280, 900, "dark")}
PATIENCE_MS = 120_000


def new_page(browser: Browser, url: str, look: str) -> Page:
    width, height, scheme = LOOKS[look]
    context = browser.new_context(
        base_url=url,
        viewport={"width": width, "height": height},
        color_scheme=scheme,  # type: ignore[arg-type]
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE_MS)
    return context.new_page()


def ask(page: Page, question: str) -> None:
    page.fill("#question", question)
    page.keyboard.press("Enter")
    page.locator(".turn").last.locator(".acts").wait_for()


def shoot(page: Page, folder: Path, name: str, look: str) -> None:
    page.wait_for_timeout(300)
    page.screenshot(path=folder / f"{name}-{look}.png")


def photograph(page: Page, folder: Path, look: str) -> None:
    page.goto("/ui/ask")
    ask(page, QUESTION)
    page.locator("[data-cite]").first.click()
    page.locator("#passage").first.wait_for()
    shoot(page, folder, "ask", look)
    page.keyboard.press("Escape")
    ask(page, UNANSWERABLE)
    shoot(page, folder, "not-found", look)
    for name in ("chats", "search?q=how+to+monitor+a+model&rerank=on", "jobs", "quality"):
        page.goto(f"/ui/{name}")
        shoot(page, folder, name.split("?")[0], look)
    photograph_library(page, folder, look)


def photograph_library(page: Page, folder: Path, look: str) -> None:
    page.goto("/ui/library")
    shoot(page, folder, "library", look)
    if page.locator("#sites").count():
        page.get_by_text("Add URL").first.click()
        shoot(page, folder, "sites", look)
        page.goto("/ui/library")
    for box in (0, 2):
        page.locator("td.pick input").nth(box).check()
    page.evaluate("document.querySelector('#filter').scrollIntoView()")
    shoot(page, folder, "library-selected", look)
    page.locator("#documents a.name", has_text="What Is MLOps?").click()
    page.locator("#text").wait_for()
    shoot(page, folder, "document", look)


def print_handbook(page: Page) -> None:
    """Upload a sample as a PDF printed by the browser."""
    _, _, text = SAMPLE.read_text().replace("**", "").partition("\n# ")
    title, *parts = (html.escape(part) for part in text.split("\n\n"))
    parts = [part.replace("\n- ", "<br>• ").replace("- ", "• ", part[:2] == "- ") for part in parts]
    body = [f"<h2>{p.lstrip('# ')}</h2>" if p.startswith("#") else f"<p>{p}</p>" for p in parts]
    page.set_content(f"<body style='margin: 2cm'><h1>{title}, printed</h1>{''.join(body)}")
    handbook = page.pdf(format="A4")
    page.goto("/ui/library")
    page.set_input_files("#file", {"name": HANDBOOK, "mimeType": "", "buffer": handbook})
    page.locator("#documents tr", has_text=HANDBOOK).locator(".state-completed").wait_for()


def photograph_page(page: Page, folder: Path, look: str) -> None:
    """Take a screenshot of a handbook page with a marked quote."""
    page.goto("/ui/library?type=application/pdf")
    url = page.locator("#documents tr", has_text=HANDBOOK).locator("a.name").get_attribute("href")
    text = page.request.get(f"{str(url).removeprefix('/ui')}/text").json()["text"]
    start = text.index(MARKED)
    page.goto(f"{url}/pages/1?start={start}&end={start + len(MARKED)}#mark")
    page.locator("#mark").wait_for()
    shoot(page, folder, "page", look)


def main(url: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        for look in LOOKS:
            photograph(new_page(browser, url, look), folder, look)
        # Last, so that the other pages show the samples.
        print_handbook(new_page(browser, url, "desktop"))
        for look in LOOKS:
            photograph_page(new_page(browser, url, look), folder, look)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
