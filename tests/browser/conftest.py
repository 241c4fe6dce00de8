"""A browser and a service without Spark, for the tests of a module."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from support.browser import browser as launched
from support.browser import opened
from support.service import Asking, served

EVIL = "<img src=x onerror='window.stolen=1'>"
"""Somebody's idea of a name."""

DECLARED = f"""
CREATE STREAM `{EVIL}` (`{EVIL}` STRING, b STRUCT<`<script>stolen=1</script>`: STRING>)
  WITH (connector = 'file', path = 'nowhere');
CREATE SINK `k{EVIL}` WITH (connector = 'memory');
CREATE PIPELINE `p{EVIL}` INTO `k{EVIL}` AS SELECT `{EVIL}` AS `{EVIL}` FROM `{EVIL}`;
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asking]:
    vehicles = Path(__file__).parents[2] / "examples/vehicles.sql"
    state = tmp_path_factory.mktemp("state")
    with served(state, files=[vehicles]) as asking:
        assert asking.sql(DECLARED).status == 200
        letters = asking.service.state.dead_letters(EVIL)
        letters.mkdir(parents=True)
        letter = {"source": EVIL, "reason": EVIL, "payload": EVIL, "file": EVIL, "offset": 0}
        (letters / "x.ndjson").write_text(json.dumps(letter) + "\n")
        yield asking


@pytest.fixture
def page(browser: Browser, api: Asking) -> Iterator[Page]:
    with opened(browser, api.url) as found:
        yield found
