"""What `ANALYZE TABLE` counted: rows, and of each column width, distinct values and NULLs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class ColumnStatistics:
    width: float
    """Average bytes of a value."""
    distinct: int | None
    """About how many different values there are; None where nobody counted (maps)."""
    null_fraction: float


@dataclass(frozen=True)
class TableStatistics:
    rows: int
    columns: Mapping[str, ColumnStatistics]
    files: str = ""
    """Which files were counted, by name, size and time; with other files the figures are old."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> TableStatistics:
        columns = {name: ColumnStatistics(**figures) for name, figures in data["columns"].items()}
        return TableStatistics(data["rows"], columns, data.get("files", ""))
