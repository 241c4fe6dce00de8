"""Sinks as tasks know them, from the options of a statement; no Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from narrows import Catalog
from narrows.connectors.target import RowPart, SinkTarget, WriteSpec
from narrows.worker.dead_letters import read_dead_letters


def write_spec(folder: Path, connector: str, **options: object) -> WriteSpec:
    """A sink that takes the columns `o0` as `id` and `o1` as `t`."""
    given = {"connector": connector, **options}
    texts = [f"{name} = {_literal(value)}" for name, value in given.items()]
    catalog = Catalog()
    catalog.execute(f"CREATE SINK out WITH ({', '.join(texts)})")
    sink = catalog.sink("out")
    target = SinkTarget(
        pipeline="p",
        sink="out",
        connector=connector,
        format=sink.format,
        options=(*sink.options.items(), ("timezone", "UTC")),
        parts=(RowPart("o0", "id"), RowPart("o1", "t")),
        place=str(folder / "ours"),
        dead_letters=str(folder / "dead"),
        life="life",
    )
    return WriteSpec((target,))


def letters(folder: Path) -> list[dict[str, Any]]:
    """What it has refused."""
    return list(read_dead_letters(folder / "dead"))


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, (bool, int)) else f"'{value}'"
