"""`narrows explain`, `narrows validate`, `narrows version`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from narrows import __version__
from narrows.catalog.catalog import Catalog
from narrows.errors import NarrowsError
from narrows.explain import FORMATS
from narrows.planner import Plan, plan
from narrows.sql.statements import ExplainMode

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    help="Streaming SQL on Spark that decodes only what your queries use.",
    pretty_exceptions_enable=False,
)

Format = Enum("Format", {name: name for name in FORMATS})  # type: ignore[misc]


class Mode(Enum):
    """The modes of EXPLAIN that need no running query."""

    default = ExplainMode.DEFAULT.value
    logical = ExplainMode.LOGICAL.value
    physical = ExplainMode.PHYSICAL.value
    verbose = ExplainMode.VERBOSE.value


CatalogFile = Annotated[
    Path,
    typer.Argument(metavar="FILE.sql", help="CREATE STREAM, TABLE, SINK, PIPELINE statements."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback with an error.")]


def main() -> None:
    app()


@app.command()
def explain(
    file: CatalogFile,
    query: Annotated[
        str | None, typer.Argument(help="A SELECT. Without it: every pipeline of the file.")
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print the plan.")] = Format["text"],
    mode: Annotated[Mode, typer.Option(help="Which plan to print.")] = Mode.default,
    pruning: Annotated[
        bool, typer.Option("--pruning/--no-pruning", help="Decode only what is used, or all.")
    ] = True,
    debug: Debug = False,
) -> None:
    """Show exactly which columns, fields and list elements a query needs. Runs nothing."""
    with _errors_for_people(debug):
        catalog = Catalog()
        catalog.load(file)
        plans = _plans(catalog, query, pruning)
        if not plans:
            raise typer.BadParameter("the file has no pipelines: give a query to explain")
        texts = [(name, p.explain(mode.value, format.value)) for name, p in plans]
        print(_join(texts, format.value))


@app.command()
def validate(file: CatalogFile, debug: Debug = False) -> None:
    """Check the statements of a file, and plan its pipelines."""
    with _errors_for_people(debug):
        catalog = Catalog()
        catalog.load(file)
        print(f"{file}: ok, {catalog.summary()}")


@app.command()
def version() -> None:
    """Print the version."""
    print(f"narrows {__version__}")


def _plans(catalog: Catalog, query: str | None, pruning: bool) -> list[tuple[str, Plan]]:
    if query is not None:
        return [("", plan(query, catalog, pruning=pruning))]
    names = [pipeline.name for pipeline in catalog.pipelines]
    return [(name, catalog.plan_pipeline(name, pruning=pruning)) for name in names]


def _join(texts: list[tuple[str, str]], format: str) -> str:
    if len(texts) == 1 and not texts[0][0]:
        return texts[0][1]
    if format == "json":
        # One document whatever the number of pipelines, so that a program can read it.
        return "{\n" + ",\n".join(f'"{name}": {text}' for name, text in texts) + "\n}"
    comment = "%% " if format == "mermaid" else ""
    return "\n\n".join(f"{comment}Pipeline {name}\n{text}" for name, text in texts)


@contextmanager
def _errors_for_people(debug: bool) -> Iterator[None]:
    """A user's fault is a message and exit code 1; a traceback only when asked for."""
    try:
        yield
    except NarrowsError as error:
        if debug:
            raise
        print(error, file=sys.stderr)
        raise typer.Exit(1) from None
    except BrokenPipeError:
        sys.stderr.close()  # `narrows explain ... | head`: nobody reads on, which is no error
        raise typer.Exit(0) from None
