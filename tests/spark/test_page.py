"""The page in a real browser, over a real `narrows serve`: from a stream to rows and back.

One service for all of it: its JVM is what takes time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import browser as launched
from support.browser import opened, run, write
from support.service_process import ServiceProcess

STREAM = """CREATE OR REPLACE STREAM events (
  a BIGINT, at STRING, b STRUCT<c: BIGINT, d: STRING, e: ARRAY<STRUCT<x: BIGINT, y: STRING>>>
) WITH (connector = 'file', path = '{folder}/in', shared = true, start_at = 'earliest')"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with ServiceProcess(tmp_path_factory.mktemp("page")) as found:
        (found.folder / "in").mkdir()
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture
def page(browser: Browser, service: ServiceProcess) -> Iterator[Page]:
    with opened(browser, f"http://127.0.0.1:{service.port}") as found:
        yield found


def put(service: ServiceProcess, name: str, *payloads: str) -> None:
    hidden = service.folder / f".{name}"
    hidden.write_text("".join(f"{payload}\n" for payload in payloads), "utf-8")
    hidden.rename(service.folder / "in" / f"{name}.json")


def event(a: int) -> str:
    return json.dumps({"a": a, "b": {"c": a * 10, "d": "x" * 80, "e": [{"x": a, "y": "z"}]}})


def make_pipeline(page: Page, name: str, query: str) -> None:
    """Of a query in the editor, with a new sink, started."""
    page.goto(f"{page.url.partition('#')[0]}#/editor")
    write(page, query)
    page.get_by_label("Create pipeline of").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Writes into").select_option(label="a new one in memory, to look at")
    dialog.get_by_role("button", name="Create").click()
    expect(page.locator(".title .state")).to_contain_text("running")


def decoded(page: Page, count: int) -> None:
    expect(page.locator("#decoded")).to_contain_text(f"{count} of 6 leaves decoded")


def test_from_a_stream_to_rows_and_back(page: Page, service: ServiceProcess) -> None:
    run(page, STREAM.replace("{folder}", str(service.folder)))
    put(service, "0", event(1), event(2), "{bad")

    make_pipeline(page, "narrow", "SELECT a FROM events")
    rows = page.locator(".live tbody tr")
    expect(rows).to_have_count(2)
    put(service, "1", event(3))
    expect(rows.first).to_have_text("3")
    expect(page.locator(".letters .reason").first).to_be_visible()
    expect(page.locator(".letters pre")).to_have_text("{bad")
    expect(page.locator(".plan")).to_contain_text("1 of 6 leaves")

    make_pipeline(page, "wide", "SELECT a, b->c AS c, b->e[0]->x AS x FROM events WHERE a > 0")
    put(service, "2", event(4))
    expect(page.locator(".live tbody tr", has_text="40").first).to_be_visible()
    page.goto(f"{page.url.partition('#')[0]}#/streams/events")
    decoded(page, 3)
    needed = page.locator(".leaf", has=page.get_by_text("c", exact=True)).locator(".chip")
    expect(needed).to_have_text(["wide"])
    expect(page.locator(".plot").first).to_be_visible()

    page.goto(f"{page.url.partition('#')[0]}#/")
    page.get_by_role("button", name="Stop wide").click()
    expect(page.locator("#said")).to_contain_text("wide has stopped")
    page.get_by_role("link", name="events", exact=True).first.click()
    put(service, "3", event(5))
    decoded(page, 1)
    page.get_by_role("link", name="narrow", exact=True).first.click()
    expect(page.locator(".live tbody tr").first).to_have_text("5")
    page.get_by_role("button", name="Stop narrow").click()
    expect(page.locator(".title .state")).to_contain_text("stopped")


def test_a_dead_letter_is_replayed_when_it_is_good(page: Page, service: ServiceProcess) -> None:
    folder = service.folder / "late"
    folder.mkdir()
    stream = (
        f"CREATE OR REPLACE STREAM late (a BIGINT, at TIMESTAMP) WITH (connector = 'file', "
        f"path = '{folder}'"
    )
    run(page, f"{stream}, eventtime = 'at')")
    (folder / "0.json").write_text('{"a": 7, "at": "some day"}\n', "utf-8")
    make_pipeline(page, "letters", "SELECT a FROM late")
    page.get_by_label("Replay this letter").click()
    expect(page.locator(".letters .wrong")).to_contain_text("still: ")
    page.get_by_role("button", name="Stop letters").click()
    expect(page.locator(".title .state")).to_contain_text("stopped")
    run(page, f"{stream})")
    page.goto(f"{page.url.partition('#')[0]}#/pipelines/letters")
    page.get_by_role("button", name="Start letters").click()
    expect(page.locator(".title .state")).to_contain_text("running")
    page.get_by_label("Replay this letter").click()
    expect(page.locator(".letters .chip")).to_have_text("replayed")
    expect(page.locator(".live tbody tr")).to_have_text("7")


def test_a_query_has_rows(page: Page, service: ServiceProcess) -> None:
    data = service.folder / "t.json"
    data.write_text('{"a": 1, "s": "<b>"}\n{"a": 2}\n', "utf-8")
    run(page, f"CREATE TABLE t (a BIGINT, s STRING) WITH (connector = 'file', path = '{data}')")
    write(page, "SELECT a, s FROM t ORDER BY a")
    page.get_by_label("SQL", exact=True).press("Control+Enter")
    expect(page.locator(".results td")).to_have_text(["1", "<b>", "2", "NULL"])
