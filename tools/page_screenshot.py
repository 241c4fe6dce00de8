"""Makes docs/page.png: the editor of the page over examples/vehicles.sql.

    python tools/page_screenshot.py [--all FOLDER]

The plan is the planner's; there is no Spark behind it, only a session that says that pipelines run.
With `--all`, every view, light, dark and on a phone, to be looked at: its figures are made up.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

from narrows.worker.counts import ReadCounts

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support import fake_session  # noqa: E402
from support.browser import browser, opened  # noqa: E402
from support.service import served  # noqa: E402

QUERY = """-- which cars are low, and what their batteries say
SELECT vin, tyres[0]->pressure AS front_left,
       size(battery->cells) AS cells,
       transform(faults, f -> f->code) AS codes
FROM vehicles
WHERE battery->soc < 20 AND tyres[0]->pressure < 1.8
"""
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
VIEWS = ("", "editor", "streams/vehicles", "pipelines/low_pressure")
_LOOKS = 15
"""Seconds of history that plots shall have."""


class BusyPipeline(fake_session.FakePipeline):
    def counts(self) -> dict[str, ReadCounts]:
        seconds = time.monotonic() % 1e6
        n = int(3000 * seconds + 2000 * math.sin(seconds / 3))
        return {"vehicles": ReadCounts(n, n * 1400, n // 10**6, 3, n, n // 5, n * 160)}

    def lag(self) -> dict[str, dict[str, int]]:
        return {"vehicles": {"bytes": int(9e5 * (1.3 + math.sin(time.monotonic())))}}


def shot(found: Browser, url: str, file: Path, **settings: Any) -> None:
    with opened(found, url, **settings) as page:
        expect(page.locator("main .panel").first).to_be_visible()
        if url.endswith("editor"):
            page.get_by_label("SQL", exact=True).fill(QUERY)
            expect(page.locator(".status")).to_contain_text("decodes")
        page.wait_for_timeout(1500 if url.endswith("editor") else 7000)
        page.screenshot(path=file)
        print(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER")
    folder: Path | None = parser.parse_args().all
    fake_session.FakePipeline = BusyPipeline  # type: ignore[misc]
    with (
        tempfile.TemporaryDirectory() as state,
        served(
            Path(state),
            fake_session.fake_sessions()[0],
            files=[ROOT / "examples/vehicles.sql"],
        ) as api,
        browser() as found,
    ):
        for name in ("low_pressure", "battery_health"):
            assert api.post(f"/pipelines/{name}/start").status == 200
        url = f"{api.url}/#/"
        shot(found, f"{url}editor", ROOT / "docs/page.png", viewport=WIDE)
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        time.sleep(_LOOKS)
        for view in VIEWS:
            name = view.partition("/")[0] or "overview"
            for scheme in ("light", "dark"):
                look = {"viewport": WIDE, "color_scheme": scheme}
                shot(found, url + view, folder / f"{name}-{scheme}.png", **look)
            shot(found, url + view, folder / f"{name}-phone.png", viewport=PHONE)


if __name__ == "__main__":
    main()
