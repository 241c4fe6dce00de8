"""Makes docs/page.png: the page over a service that reads vehicles which are made up meanwhile.

    python tools/page_screenshot.py [--all FOLDER]

With `--all`, every view, light, dark and on a phone, to be looked at.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, expect

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.browser import browser, opened  # noqa: E402
from support.service_process import ServiceProcess  # noqa: E402

QUERY = """-- which cars are low, and what their batteries say
SELECT vin, tyres[0]->pressure AS front_left,
       size(battery->cells) AS cells,
       transform(faults, f -> f->code) AS codes
FROM vehicles
WHERE battery->soc < 20 AND tyres[0]->pressure < 1.8
"""
WIDE = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}


def vehicle(chance: random.Random, number: int) -> dict[str, Any]:
    def some(low: float, high: float) -> float:
        return round(chance.uniform(low, high), 2)

    cell = {"voltage": some(3, 4), "temperature": some(10, 40), "cycles": 120}
    place = {"lat": some(-60, 60), "lon": some(-180, 180)}
    return {
        "vin": f"W{number % 900:06d}",
        "ts": f"2026-11-16T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "speed": some(0, 130),
        "odometer": number,
        "battery": {"soc": some(0, 100), "voltage": some(350, 400), "temperature": 21.5}
        | {"cells": [cell] * 12},
        "position": {**place, "heading": some(0, 360), "accuracy": 4.0},
        "tyres": [{"pressure": some(1.5, 2.8), "temperature": some(5, 60), "age_days": 90}] * 4,
        "trip": {"id": f"t{number}", "legs": [{"from": place, "to": place, "km": some(1, 99)}] * 3},
        "faults": [{"code": "P0420", "severity": 2, "text": "catalyst efficiency too low"}],
        "labels": {"depot": chance.choice(["north", "south"]), "fleet": "7"},
    }


def feed(folder: Path, stop: threading.Event) -> None:
    chance, number = random.Random(17), 0
    while not stop.wait(0.7):
        lines = []
        for _ in range(chance.randrange(200, 500)):
            number += 1
            lines.append(json.dumps(vehicle(chance, number)))
        if number % 3 == 0:
            lines.append('{"vin": "W000042", "ts": 17')
        hidden = folder / f".{number}"
        hidden.write_text("\n".join(lines) + "\n", "utf-8")
        hidden.rename(folder / f"{number:09d}.json")


def declared(folder: Path) -> str:
    sql = (ROOT / "examples/vehicles.sql").read_text("utf-8")
    sql = sql.replace("'data/vehicles', format = 'json'", f"'{folder}/in', shared = true")
    sql = sql.replace(
        "connector = 'file', path = 'out/alerts', format = 'json'", "connector = 'memory'"
    )
    return sql.replace("'out/", f"'{folder}/out/").replace("'data/fleets'", f"'{folder}/fleets'")


def shot(found: Browser, url: str, file: Path, type_in: str = "", **settings: Any) -> None:
    with opened(found, url, **settings) as page:
        expect(page.locator("main .panel").first).to_be_visible()
        if type_in:
            page.get_by_label("SQL", exact=True).fill(type_in)
            expect(page.locator(".status")).to_contain_text("decodes")
        page.wait_for_timeout(8000 if "editor" not in url else 1500)
        page.screenshot(path=file)
        print(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, metavar="FOLDER")
    folder = parser.parse_args().all
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        (place / "in").mkdir()
        threading.Thread(target=feed, args=(place / "in", stop), daemon=True).start()
        with ServiceProcess(place) as service, browser() as found:
            service.client.execute(declared(place))
            service.client.execute("START PIPELINE low_pressure, battery_health")
            url = f"http://127.0.0.1:{service.port}/#/"
            shot(found, f"{url}editor", ROOT / "docs/page.png", QUERY, viewport=WIDE)
            for view in ("", "editor", "streams/vehicles", "pipelines/low_pressure"):
                name = view.partition("/")[0] or "overview"
                text = QUERY if view == "editor" else ""
                for scheme in ("light", "dark") if folder else ():
                    settings = {"viewport": WIDE, "color_scheme": scheme}
                    shot(found, url + view, folder / f"{name}-{scheme}.png", text, **settings)
                if folder:
                    shot(found, url + view, folder / f"{name}-phone.png", text, viewport=PHONE)
            stop.set()


if __name__ == "__main__":
    main()
