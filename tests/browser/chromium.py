"""Debian's Chromium, without what it would ask for by itself."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

# Nothing of the browser's own is to go out.
_QUIET = [
    "--no-sandbox", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run it; meanwhile Django takes this thread for asynchronous, and refuses it the database."""
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=_QUIET, headless=True
        )
        yield launched
        launched.close()
