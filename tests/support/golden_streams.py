"""Golden streams: rows in, rows out, over any run of a pipeline.

    # what the file is about
    stream (k BIGINT, a BIGINT, ts BIGINT) WITH (eventtime = 'ts', watermark = '5 seconds')
    {"k": 1, "a": 2, "ts": 1000}
    stop
    {"k": 1, "a": 3, "ts": 2000}

    # what the case is about
    pipeline
    SELECT k, count(*) AS n FROM s GROUP BY k, tumblingwindow('ss', 10)
    ----
    {"k": 1, "n": 2}
    ----

The rows of the stream `s` come in files, cut where `stop` stands. A `query` runs over all of them
at once. A `pipeline` does that too, and must give the same when it runs on the first file, is
stopped, and goes on with the rest from its checkpoint. `pipeline late=1` is for rows that come too
late: it runs as a stream only, and so many rows must be counted. Rows are compared without order.
`make golden` rewrites them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.golden import GOLDEN

FOLDER = GOLDEN / "streams"
_CASE = re.compile(
    r"(?P<comment>(?:# .*\n)+)(?P<directive>(?:query|pipeline).*)\n(?P<sql>.*)\n----\n"
    r"(?P<rows>(?:\{.*\n)*)----\n"
)


@dataclass(frozen=True)
class Case:
    name: str
    comment: str
    directive: str
    sql: str
    rows: list[str]

    @property
    def streams(self) -> bool:
        return self.directive.startswith("pipeline")

    @property
    def late(self) -> int | None:
        found = re.search(r"late=(\d+)", self.directive)
        return int(found[1]) if found else None


@dataclass(frozen=True)
class GoldenStream:
    path: Path
    head: str
    columns: str
    options: str
    files: list[str]
    cases: list[Case]

    def rewritten(self, rows: dict[str, list[str]]) -> str:
        blocks = [
            f"{case.comment}{case.directive}\n{case.sql}\n----\n"
            + "".join(f"{row}\n" for row in rows[case.name])
            + "----\n"
            for case in self.cases
        ]
        return "\n".join([self.head, *blocks])


def read_stream(path: Path) -> GoldenStream:
    text = path.read_text("utf-8")
    first = _CASE.search(text)
    assert first is not None, path
    head = text[: first.start()].rstrip("\n") + "\n"
    declared = re.search(r"^stream \((?P<columns>.*)\) WITH \((?P<options>.*)\)$", head, re.M)
    assert declared is not None, path
    data = head[declared.end() + 1 :]
    cases = [
        Case(f"c{number}", m["comment"], m["directive"], m["sql"], m["rows"].splitlines())
        for number, m in enumerate(_CASE.finditer(text))
    ]
    files = re.split(r"^stop\n", data, flags=re.M)
    return GoldenStream(path, head, declared["columns"], declared["options"], files, cases)


def golden_streams() -> list[Path]:
    return sorted(FOLDER.glob("*.stream"))


def as_lines(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row) for row in rows)
