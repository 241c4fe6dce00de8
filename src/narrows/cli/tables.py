"""Answers as tables on the terminal; plain and complete when piped.

What stands in a cell is text, whatever is in it: neither rich's markup nor a terminal's commands.
"""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from narrows.catalog.describe import ResultTable
from narrows.cli.shown import shown, shown_field


def print_rows(rows: ResultTable) -> None:
    if not sys.stdout.isatty():
        for row in (rows.columns, *rows.rows):
            print("\t".join(map(shown_field, row)))
        return
    console = Console()
    console.print(table_of(rows))
    console.print(f"{len(rows.rows)} rows")


def table_of(rows: ResultTable) -> Table:
    table = Table(box=box.SIMPLE)
    for column in rows.columns:
        table.add_column(cell(column), overflow="fold")
    for row in rows.rows:
        table.add_row(*map(cell, row))
    return table


def cell(text: str, style: str = "") -> Text:
    """Text for rich that rich does not read."""
    return Text(shown(text), style=style)
