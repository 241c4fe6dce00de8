"""The editor: what a query would decode while it is typed, completion, and what is wrong."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from support.browser import run, write


@pytest.fixture
def editor(page: Page) -> Locator:
    page.get_by_role("link", name="Editor").click()
    found = page.get_by_label("SQL", exact=True)
    expect(found).to_be_focused()
    expect(page.get_by_role("button", name="vehicles")).to_be_visible()
    return found


def leaf(page: Page, name: str) -> Locator:
    named = page.locator(".explained .leaf", has=page.get_by_text(name, exact=True))
    return named.first


def test_what_is_decoded_changes_while_typing(page: Page, editor: Locator) -> None:
    status = page.locator(".status")
    editor.press_sequentially("SELECT vin FROM vehicles ")
    expect(status).to_contain_text("decodes 2 of 27 leaves of vehicles")
    expect(leaf(page, "vin")).to_have_attribute("data-decoded", "all")
    expect(leaf(page, "tyres")).to_have_attribute("data-decoded", "none")
    editor.press_sequentially("WHERE tyres[0]->pressure < 2 ")
    expect(status).to_contain_text("decodes 3 of 27 leaves of vehicles")
    expect(leaf(page, "tyres")).to_have_attribute("data-decoded", "some")
    expect(leaf(page, "pressure")).to_have_attribute("data-decoded", "all")
    page.get_by_role("tab", name="EXPLAIN").click()
    expect(page.locator("#tab-text")).to_contain_text("tyres[0][struct{pressure}]")
    page.get_by_role("tab", name="EXPLAIN").press("ArrowLeft")
    expect(page.locator(".box.decoder")).to_contain_text("3 of 27 leaves")


def test_completion_goes_down_to_nested_fields(page: Page, editor: Locator) -> None:
    options = page.get_by_role("option")
    editor.press_sequentially("SELECT * FROM veh")
    expect(options).to_have_text(["vehiclesstream"])
    editor.press("Enter")
    expect(editor).to_have_value("SELECT * FROM vehicles")
    editor.press_sequentially(" v WHERE v.batt")
    editor.press("Tab")
    editor.press_sequentially("->")
    expect(options.locator("span")).to_have_text(["soc", "voltage", "temperature", "cells"])
    editor.press("ArrowDown")
    editor.press("Enter")
    expect(editor).to_have_value("SELECT * FROM vehicles v WHERE v.battery->voltage")
    editor.press_sequentially(" > 3 AND exists(trip->legs, l -> l->fr")
    editor.press("Enter")
    editor.press_sequentially("->")
    expect(options.locator("span")).to_have_text(["lat", "lon"])
    editor.press("Escape")
    expect(options).to_have_count(0)
    editor.press("Control+Space")
    expect(options).to_have_count(2)


def test_what_is_wrong_is_underlined_and_mended(page: Page, editor: Locator) -> None:
    write(page, "SELECT '😀' AS x, vinn,\n  tyres[0]->presure FROM vehicles")
    wrong = page.locator(".behind .bad")
    expect(wrong).to_have_text(["vinn", "presure"])
    said = page.locator("#problems li")
    expect(said).to_have_count(2)
    expect(said.first).to_contain_text("column `vinn` not found in `vehicles`")
    expect(said.first).to_contain_text("did you mean `vin`?")
    expect(page.locator(".lens").first).to_contain_text("not found")
    page.get_by_role("button", name="Use vin").click()
    expect(wrong).to_have_text(["presure"])
    page.get_by_role("button", name="Use pressure").click()
    expect(said).to_have_count(0)
    expect(editor).to_have_value("SELECT '😀' AS x, vin,\n  tyres[0]->pressure FROM vehicles")
    editor.press("Control+z")
    expect(said).to_have_count(1)


def test_of_several_statements_the_one_at_the_cursor_is_explained(
    page: Page, editor: Locator
) -> None:
    write(page, "SHOW STREAMS;\nSELECT vin FROM vehicles;\nSTOP PIPELINE traffic;\nSELECT 1 AS x")
    expect(page.locator(".status")).to_contain_text("reads nothing")
    editor.press("ArrowUp")
    editor.press("ArrowUp")
    editor.press("End")
    editor.press("ArrowLeft")
    editor.press_sequentially(" ")
    expect(page.locator(".status")).to_contain_text("decodes 2 of 27 leaves of vehicles")
    write(page, "CREATE STREAM n (a BIGINT, b BIGINT) WITH (connector = 'file', path = 'n')")
    expect(page.locator(".status")).to_contain_text("only declarations")
    write(page, f"{editor.input_value()};\nSELECT a FROM n")
    expect(page.locator(".status")).to_contain_text("decodes 1 of 2 leaves of n")


def test_statements_are_executed(page: Page, editor: Locator) -> None:
    run(
        page,
        "CREATE SINK mine WITH (connector = 'memory');\n"
        "CREATE PIPELINE mine INTO mine AS SELECT speed FROM vehicles;\nSHOW SINKS",
    )
    expect(page.locator(".results .done")).to_have_text(["✓ create sink", "✓ create pipeline"])
    expect(page.locator(".results td", has_text="mine").first).to_be_visible()
    page.goto(f"{page.url.partition('#')[0]}#/")
    page.get_by_role("button", name="Drop mine", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name="Drop").click()
    expect(page.locator("#said")).to_contain_text("mine is dropped")
    expect(page.locator("a[href='#/pipelines/mine']")).to_have_count(0)


def test_a_query_without_spark_says_why(page: Page, editor: Locator) -> None:
    write(page, "SELECT vin FROM vehicles")
    editor.press("Control+Enter")
    expect(page.locator(".results [role=alert]")).to_contain_text("there is no Spark in this test")
    page.get_by_label("Create pipeline of").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("traffic")
    dialog.get_by_label("Writes into").select_option("alerts")
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("traffic")
