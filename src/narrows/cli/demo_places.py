"""Where the demo's data is, and where its rows go: here folders of files; `demo_topics.py` has
topics of Kafka, `demo_mqtt.py` those of MQTT."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from narrows.cli.demo_data import BROKEN, vehicles
from narrows.spark.run.run import read_rows

RUNS = ("warm-up", "pruned", "full")
"""What the demo runs, in order; each has a state folder of this name."""
_FILES = 4


class Place(Protocol):
    def fill(self, count: int) -> int:
        """Makes so many messages, and some that are broken; answers with their bytes."""

    @property
    def source(self) -> str:
        """The options of the stream."""

    def sink(self, run: str, pipeline: str) -> str:
        """The options of a pipeline's sink in one of the demo's runs."""

    def rows(self, run: str, pipeline: str) -> list[dict[str, Any]]:
        """What a pipeline has written."""


class Folders:
    def __init__(self, folder: Path) -> None:
        self._data, self._out = folder / "data", folder / "out"

    def fill(self, count: int) -> int:
        self._data.mkdir(parents=True)
        total = 0
        for number in range(_FILES):
            with (self._data / f"vehicles-{number}.json").open("w", encoding="utf-8") as file:
                total += sum(file.write(f"{text}\n") for text in vehicles(count, number, _FILES))
        broken = "".join(f"{text}\n" for text in BROKEN)
        (self._data / "vehicles-broken.json").write_text(broken, encoding="utf-8")
        return total

    @property
    def source(self) -> str:
        return f"connector = 'file', path = '{self._data}'"

    def sink(self, run: str, pipeline: str) -> str:
        return f"connector = 'file', path = '{self._out / run / pipeline}'"

    def rows(self, run: str, pipeline: str) -> list[dict[str, Any]]:
        return read_rows(self._out / run / pipeline)
