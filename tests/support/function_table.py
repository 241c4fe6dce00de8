"""The table in docs/functions.md: names of other stream engines, and an example of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "functions.md"
AGGREGATES = "Aggregates"
REMEMBER = "Functions that remember"


class Line(NamedTuple):
    section: str
    name: str
    here: str
    example: str
    gives: str


def rows() -> list[str]:
    """What the examples are about."""
    (found,) = re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    return str(found).splitlines()


def schema() -> str:
    (found,) = re.findall(r"CREATE STREAM readings \((.*)\)\n", PAGE.read_text("utf-8"))
    return str(found)


def lines() -> list[Line]:
    found, section = [], ""
    for text in PAGE.read_text("utf-8").splitlines():
        if text.startswith("## "):
            section = text.removeprefix("## ")
        if text.startswith("| `"):
            cells = [cell.replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", text)[1:-1]]
            name, here, example, gives = cells
            found.append(Line(section, _code(name), here.strip(), _code(example), _code(gives)))
    return found


def _code(cell: str) -> str:
    """What stands in backticks; in two of them, what has one inside."""
    cell = cell.strip()
    return cell[3:-3] if cell.startswith("`` ") else cell[1:-1]
