"""Answers as tables on the terminal; plain and complete when piped."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console
from rich.table import Table

from narrows.catalog.describe import Rows


def print_rows(rows: Rows) -> None:
    if not sys.stdout.isatty():
        print("\t".join(rows.columns))
        for row in rows.rows:
            print("\t".join(row))
        return
    table = Table(box=box.SIMPLE)
    for column in rows.columns:
        table.add_column(column, overflow="fold")
    for row in rows.rows:
        table.add_row(*row)
    console = Console()
    console.print(table)
    console.print(f"{len(rows.rows)} rows")
