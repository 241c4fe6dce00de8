"""Writes the tables of WITH options in the docs, from what connectors and formats declare.

    python tools/write_option_tables.py [--check]

A table stands between `<!-- options: sources -->` and `<!-- /options -->`; `sinks` are the other
half, and `options: file source` or `options: csv sink` are those of one connector or format.
`options: pipelines` are those of pipelines, which depend on neither.
`--check` writes nothing, and fails when a file is not as it would be written.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from narrows.catalog.options import (
    PIPELINE_OPTIONS,
    SINK_OPTIONS,
    STREAM_OPTIONS,
    TABLE_OPTIONS,
)
from narrows.plugins.declared import ConnectorSpec, FormatSpec
from narrows.plugins.options import DEFAULT_FORMAT, OptionSpec
from narrows.plugins.registry import CONNECTORS, FORMATS

DOCS = Path(__file__).parents[1] / "docs"
_REGION = re.compile(r"(<!-- options: (.*?) -->\n).*?(<!-- /options -->)", re.DOTALL)
_HEAD = "| option | of | meaning | values | default |\n|---|---|---|---|---|\n"


@dataclass(frozen=True)
class Entry:
    """An option that a source or a sink takes, and because of what."""

    sink: bool
    owner: str
    """The connector or format; empty for what does not depend on either."""
    of: str
    spec: OptionSpec


def main() -> None:
    check = sys.argv[1:] == ["--check"]
    stale = []
    for path in sorted(DOCS.glob("*.md")):
        before = path.read_text("utf-8")
        after = _REGION.sub(lambda region: region[1] + table(region[2]) + region[3], before)
        if after != before:
            stale.append(path.name)
            if not check:
                path.write_text(after, "utf-8")
    if check and stale:
        sys.exit(f"{', '.join(stale)}: not what the options say; `make docs` writes it")


def table(selector: str) -> str:
    """The rows of `sources`, `sinks`, `pipelines`, or of one owner: `file source`."""
    if selector == "pipelines":
        return _HEAD + "".join(_row(Entry(False, "", "all", spec)) for spec in PIPELINE_OPTIONS)
    owner, _, role = selector.rpartition(" ")
    sink = {"source": False, "sources": False, "sink": True, "sinks": True}[role]
    chosen = [e for e in entries() if e.sink is sink and owner in ("", e.owner)]
    if not chosen:
        sys.exit(f"there is no option of `{selector}`")
    return _HEAD + "".join(_row(entry) for entry in chosen)


def entries() -> Iterator[Entry]:
    for spec in STREAM_OPTIONS:
        yield Entry(False, "", "all" if spec in TABLE_OPTIONS else "streams", spec)
    for spec in SINK_OPTIONS:
        yield Entry(True, "", "all", spec)
    for kind, owners in (("connector", connectors()), ("format", formats())):
        for owner in owners:
            for sink, specs in ((False, owner.source_options), (True, owner.sink_options)):
                for spec in specs or ():
                    yield Entry(sink, owner.name, f"{kind} `{owner.name}`", spec)


def connectors() -> list[ConnectorSpec]:
    found = (CONNECTORS.find(name) for name in CONNECTORS.built_in)
    return [connector for connector in found if connector.by_statement]


def formats() -> list[FormatSpec]:
    return [FORMATS.find(name) for name in FORMATS.built_in]


def _row(entry: Entry) -> str:
    spec = entry.spec
    cells = (f"`{spec.name}`", entry.of, spec.doc, _values(entry), _default(entry))
    return f"| {' | '.join(cells)} |\n"


def _values(entry: Entry) -> str:
    spec = entry.spec
    if spec.name in ("connector", "format"):
        owners = connectors() if spec.name == "connector" else formats()
        there = [
            o for o in owners if (o.sink_options if entry.sink else o.source_options) is not None
        ]
        return ", ".join(f"`{owner.name}`" for owner in there)
    if spec.choices:
        return ", ".join(f"`{choice}`" for choice in spec.choices)
    if spec.duration:
        return "a duration: `'5 seconds'`, `'500 ms'`"
    if spec.type is None:
        return "a string, a number, `true`, `false`"
    if spec.type is bool:
        return "`true`, `false`"
    if spec.type is int:
        return "a whole number" + ("" if spec.least is None else f", at least {spec.least}")
    return "a string"


def _default(entry: Entry) -> str:
    spec = entry.spec
    if spec.required:
        return "must be given"
    if entry.sink and spec.name == "format":
        return f"`{DEFAULT_FORMAT}`, and none for sinks that take rows"
    if spec.default is None:
        return "none"
    return f"`{str(spec.default).lower() if spec.type is bool else spec.default}`"


if __name__ == "__main__":
    main()
