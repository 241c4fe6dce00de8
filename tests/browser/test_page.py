"""The page around the editor: strangers' texts, tokens, colours, keyboards and phones."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from support.browser import PHONE, opened, write
from support.service import Asking, served

from .conftest import EVIL

VIEWS = ("", "editor", "streams/vehicles", "tables/fleets", "pipelines/traffic", "sinks/alerts")


def test_what_strangers_wrote_stays_text(page: Page, api: Asking) -> None:
    evil = quote(EVIL, safe="")
    base = api.url
    expect(page.get_by_role("link", name=f"p{EVIL}").first).to_be_visible()
    page.goto(f"{base}/#/streams/{evil}")
    expect(page.get_by_role("heading", name=EVIL).first).to_be_visible()
    expect(page.locator(".letters pre")).to_have_text(EVIL)
    expect(page.locator(".tree .name").last).to_have_text("<script>stolen=1</script>")
    page.goto(f"{base}/#/pipelines/p{evil}")
    expect(page.locator(".plan")).to_contain_text(EVIL)
    page.get_by_label("Replay this letter").click()
    expect(page.locator(".letters .wrong")).to_contain_text("still: ")
    page.goto(f"{base}/#/sinks/k{evil}")
    expect(page.get_by_role("heading", name=EVIL).first).to_be_visible()
    page.goto(f"{base}/#/editor")
    write(page, f"SELECT `{EVIL}`, '{EVIL[:9]}' AS x, b->nothing FROM `{EVIL}`")
    expect(page.locator("#problems")).to_contain_text("<script>stolen=1</script>")
    assert page.evaluate("window.stolen") is None
    assert page.locator("img:not(.brand img)").count() == 0
    assert page.locator("script").count() == 2


def test_no_text_can_become_markup(browser: Browser, api: Asking) -> None:
    """By the browser's rules, not by our care."""
    page = browser.new_page()
    page.goto(api.url)
    refused = "() => { try { document.body.innerHTML = '<b>x</b>'; return 'taken'; } "
    assert page.evaluate(refused + "catch (error) { return error.name; } }") == "TypeError"
    page.close()


def test_the_policy_lets_nothing_in_from_elsewhere(api: Asking) -> None:
    for path in ("/", "/page/main.js", "/page/style.css"):
        policy = api.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
    folder = Path(__file__).parents[2] / "src/narrows/service/page"
    for file in folder.iterdir():
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text, file
        assert "https:" not in text, file
        assert "innerHTML" not in text, file


def test_a_token_is_asked_for_and_kept_for_the_tab(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path, token="right") as api, opened(browser, api.url) as page:
        dialog = page.get_by_role("dialog", name="This service wants a token")
        dialog.get_by_label("Token").fill("wrong")
        dialog.get_by_role("button", name="Continue").click()
        expect(dialog).to_contain_text("That was not the token")
        dialog.get_by_label("Token").fill("right")
        dialog.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("Nothing is declared yet")).to_be_visible()
        assert page.evaluate("JSON.stringify(localStorage)") == "{}"
        page.reload()
        expect(page.get_by_text("Nothing is declared yet")).to_be_visible()
        expect(dialog).to_have_count(0)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(browser: Browser, api: Asking, scheme: str) -> None:
    settings = {"viewport": PHONE, "color_scheme": scheme, "has_touch": True}
    with opened(browser, api.url, **settings) as page:
        for view in VIEWS:
            page.goto(f"{api.url}/#/{view}")
            expect(page.locator("main .panel").first).to_be_visible()
            width = page.evaluate("document.scrollingElement.scrollWidth")
            assert width <= PHONE["width"], view


def test_colours_follow_the_system_until_somebody_chooses(browser: Browser, api: Asking) -> None:
    def ground(page: Page) -> int:
        """How light the ground is."""
        colour = "getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/)[0]"
        return int(page.evaluate(colour))

    with opened(browser, api.url, color_scheme="dark") as page:
        assert ground(page) < 64
        page.get_by_label("Colours: as the system says").click()
        page.get_by_label("Colours: light").focus()
        assert ground(page) > 192
        page.reload()
        assert ground(page) > 192
        page.get_by_label("Colours: light").press("Enter")
        page.get_by_label("Colours: dark").press("Enter")
        expect(page.get_by_label("Colours: as the system says")).to_be_focused()


def test_the_keyboard_suffices(page: Page) -> None:
    expect(page.locator(".listing").first).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="New")).to_be_focused()
    page.keyboard.press("Enter")
    editor = page.get_by_label("SQL", exact=True)
    expect(editor).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_label("Run all statements")).to_be_focused()


def test_focus_stays_while_the_page_draws_itself_anew(page: Page) -> None:
    button = page.get_by_role("button", name="Start traffic")
    button.focus()
    for _ in range(2):
        with page.expect_response("**/sinks?*"):
            pass
    expect(button).to_be_focused()


def test_a_tab_that_nobody_sees_asks_for_nothing(browser: Browser, api: Asking) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.clock.install()
    page.add_init_script("Object.defineProperty(document, 'hidden', { get: () => window.away })")
    page.goto(api.url)
    expect(page.locator(".listing").first).to_be_visible()
    turn = "away => { window.away = away; document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(turn, True)
    page.clock.run_for(10_000)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(600_000)
    assert asked == []
    with page.expect_request("**/pipelines?*"):
        page.evaluate(turn, False)
    context.close()


def test_what_is_not_there_is_said(page: Page, api: Asking) -> None:
    page.goto(f"{api.url}/#/pipelines/nothing")
    expect(page.get_by_role("alert")).to_contain_text("nothing")
    page.goto(f"{api.url}/#/what")
    expect(page.get_by_text("There is no such page")).to_be_visible()
    page.go_back()
    page.goto(f"{api.url}/#/sources/fleets")
    expect(page.get_by_role("heading", name="fleets").first).to_be_visible()
