"""Options that several commands have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from narrows.errors import Code, fail

STATE = Path(".narrows")

CatalogFile = Annotated[
    Path,
    typer.Argument(metavar="FILE.sql", help="CREATE STREAM, TABLE, SINK, PIPELINE statements."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")]
Pruning = Annotated[
    bool, typer.Option("--pruning/--no-pruning", help="Decode only what is used, or all.")
]
State = Annotated[Path, typer.Option(help="Folder of checkpoints and dead letters.")]
Master = Annotated[
    str | None, typer.Option(help="Spark master, e.g. spark://host:7077. Default: embedded.")
]
Conf = Annotated[
    list[str], typer.Option("--conf", metavar="KEY=VALUE", help="A Spark setting; may be repeated.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]


def spark_settings(conf: Sequence[str]) -> dict[str, str]:
    """What `--conf KEY=VALUE` says."""
    settings = {}
    for setting in conf:
        key, separator, value = setting.partition("=")
        if not separator:
            raise fail(Code.INVALID_OPTION, f"--conf {setting}: write KEY=VALUE")
        settings[key] = value
    return settings
