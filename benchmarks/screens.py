"""Photograph the pages of a running installation that holds the sample documents, and time them.

.venv/bin/python benchmarks/screens.py http://127.0.0.1:8000 docs/screenshots
"""

import shutil
import statistics
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

QUESTION = "What does MLOps mean and why does it matter?"
UNANSWERABLE = "How tall is the Eiffel tower in Paris?"
LOOKS = {"desktop": (1280, 900, "light"), "360": (360, 780, "light"), "dark": (1280, 900, "dark")}
TIMES = 5
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


def photograph(page: Page, folder: Path, look: str) -> None:
    def shoot(name: str) -> None:
        page.wait_for_timeout(300)
        page.screenshot(path=folder / f"{name}-{look}.png")

    page.goto("/ui/ask")
    ask(page, QUESTION)
    page.locator(".chip").first.click()
    page.locator("#passage").wait_for()
    shoot("ask")
    page.keyboard.press("Escape")
    ask(page, UNANSWERABLE)
    page.locator(".nearest li").first.wait_for()
    shoot("not-found")
    for name in ("search?q=how+to+monitor+a+model&rerank=on", "library", "jobs", "quality"):
        page.goto(f"/ui/{name}")
        shoot(name.split("?")[0])
    page.goto("/ui/library")
    page.locator("#documents a.name", has_text="What Is MLOps?").click()
    page.locator("#text").wait_for()
    shoot("document")


def measure(page: Page) -> dict[str, float]:
    """Return medians in ms, from the page's own marks: Enter to first token, click to passage."""
    found: dict[str, list[float]] = {"first-token": [], "source-panel": []}
    for _ in range(TIMES):
        page.goto("/ui/ask")
        ask(page, QUESTION)
        page.locator(".chip").first.click()
        page.locator("#passage").wait_for()
        page.wait_for_timeout(500)
        for name, times in found.items():
            script = f"performance.getEntriesByName('{name}')[0].duration"
            times.append(page.evaluate(script))
    return {name: round(statistics.median(times)) for name, times in found.items()}


def main(url: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking"],
        )
        for look in LOOKS:
            photograph(new_page(browser, url, look), folder, look)
        print(measure(new_page(browser, url, "desktop")))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
