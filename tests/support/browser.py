"""A real browser for tests of the page: Chromium as the system has it, driven by Playwright.

A page that throws, or that its own policy had to stop, fails its test.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

PATIENCE = 120_000
"""Milliseconds."""
PHONE = {"width": 360, "height": 740}
_REFUSED = re.compile(r"Failed to load resource: .* status of [45]\d\d")
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def browser() -> Iterator[Browser]:
    found = next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)
    if found is None:
        pytest.skip("THE PAGE IS NOT TESTED: there is no chromium (apt-get install chromium)")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@contextmanager
def opened(browser: Browser, url: str, **settings: Any) -> Iterator[Page]:
    """A tab of its own, with nothing stored."""
    context = browser.new_context(**settings)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    wrong: list[str] = []

    def console(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not _REFUSED.match(message.text):
            wrong.append(message.text)

    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", console)
    page.goto(url)
    yield page
    context.close()
    assert wrong == []


def write(page: Page, sql: str) -> None:
    """Types a text into the empty editor, and closes the list of completions."""
    editor = page.get_by_label("SQL", exact=True)
    editor.fill(sql)
    editor.press("Escape")


def run(page: Page, sql: str) -> None:
    """Executes statements in the editor."""
    page.goto(f"{page.url.partition('#')[0]}#/editor")
    write(page, sql)
    page.get_by_label("Run all statements").click()
    expect(page.locator(".results .done, .results table, .results .text").first).to_be_visible()
