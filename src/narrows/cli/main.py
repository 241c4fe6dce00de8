"""The `narrows` command: explain, validate, run, query, dead-letters, reset, compact, demo,
version; and what talks to a service (`service.py`)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows import __version__
from narrows.catalog.describe import ResultTable
from narrows.cli.compact import compact
from narrows.cli.errors import errors_for_people
from narrows.cli.options import (
    STATE,
    AsJson,
    CatalogFile,
    Conf,
    Debug,
    Master,
    Pruning,
    State,
    spark_settings,
)
from narrows.cli.service import add_service_commands, explain_there
from narrows.cli.shown import shown, shown_json, shown_lines
from narrows.errors import Code, fail
from narrows.explain import FORMATS
from narrows.explain.json import explain_dict
from narrows.explain.mermaid import flow_chart
from narrows.explain.plan import Plan
from narrows.formats.kernel import chosen_kernel
from narrows.planner.catalog import Catalog
from narrows.planner.query import plan
from narrows.sql.parser.statements import ExplainMode

if TYPE_CHECKING:
    from narrows.spark.session import Session

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


add_service_commands(app)
app.command()(compact)


def main() -> None:
    app()


# --- planning -------------------------------------------------------------------------------------


@app.command()
def explain(
    file: CatalogFile,
    query: Annotated[
        str | None, typer.Argument(help="A SELECT. Without it: every pipeline of the file.")
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask a service: give a query or pipeline, and no file."),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print the plan.")] = Format["text"],
    mode: Annotated[Mode, typer.Option(help="Which plan to print.")] = Mode.default,
    pruning: Pruning = True,
    debug: Debug = False,
) -> None:
    """Show exactly which columns, fields and list elements a query needs. Runs nothing."""
    with errors_for_people(debug):
        if server is not None:
            if query is not None:
                raise fail(Code.INVALID_OPTION, "the service has the catalog: give the query alone")
            explain_there(server, str(file), mode.value, format.value, pruning=pruning)
            return
        catalog = Catalog()
        answers = [answer for answer in catalog.load(file) if isinstance(answer, str)]
        plans = _plans(catalog, query, pruning)
        if not plans and not answers:
            raise fail(Code.UNKNOWN_OBJECT, f"`{file}` has no pipelines", hint="give a query")
        texts = [] if query is not None else answers
        if plans:
            texts.append(_explained(plans, ExplainMode(mode.value), format.value))
        show = shown_json if format.value == "json" else shown_lines
        print(show("\n\n".join(texts)))


@app.command()
def validate(file: CatalogFile, debug: Debug = False) -> None:
    """Check the statements of a file, and plan its pipelines."""
    with errors_for_people(debug):
        catalog = Catalog()
        catalog.check_file(file)
        print(shown(f"{file}: ok, {catalog.summary()}"))


@app.command()
def version() -> None:
    """Print the version, and which kernel decodes JSON here."""
    with errors_for_people(debug=False):
        print(f"narrows {__version__}, {chosen_kernel()} kernel")


# --- running --------------------------------------------------------------------------------------


@app.command()
def run(
    file: CatalogFile,
    pipelines: Annotated[
        list[str] | None, typer.Argument(help="Pipelines to run. Default: all of the file.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Only what is there now, then end.")] = False,
    trigger: Annotated[str, typer.Option(help="How often to look for new payloads.")] = "1 second",
    start_at: Annotated[
        str | None,
        typer.Option(help="Where new pipelines begin on a shared stream: latest, earliest."),
    ] = None,
    state: State = STATE,
    master: Master = None,
    conf: Conf = [],  # noqa: B006
    pruning: Pruning = True,
    debug: Debug = False,
) -> None:
    """Run pipelines on Spark, until they are done (--once) or stopped with Ctrl-C (or SIGTERM)."""
    from narrows.state.before_start import check_pipelines, check_settings
    from narrows.state.folder import StateFolder

    with errors_for_people(debug):
        catalog = Catalog()
        catalog.load(file)
        names = pipelines or [pipeline.name for pipeline in catalog.pipelines]
        if not names:
            raise fail(Code.UNKNOWN_OBJECT, f"`{file}` has no pipelines to run")
        check_settings(trigger, start_at)
        check_pipelines(StateFolder(state), catalog, names, pruning=pruning)
        with _session(state, master, conf, pruning, catalog) as session:
            from narrows.cli.progress import follow

            run = session.start(*names, once=once, trigger=trigger, start_at=start_at)
            follow(session, run)


@app.command()
def query(
    file: CatalogFile,
    sql: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="A SELECT.")] = None,
    limit: Annotated[int, typer.Option(help="Print at most this many rows; 0: all.")] = 100,
    as_json: AsJson = False,
    state: State = STATE,
    master: Master = None,
    conf: Conf = [],  # noqa: B006
    pruning: Pruning = True,
    debug: Debug = False,
) -> None:
    """Run a query over what is there now, and print its rows. A query alone may read files that
    nobody declared: `narrows query "SELECT a FROM 'data/*.json'"`."""
    from narrows.cli.remarks import print_remarks
    from narrows.cli.tables import print_rows
    from narrows.connectors.file.inferred import FilesInQueries
    from narrows.spark.write.json_lines import json_lines

    with errors_for_people(debug):
        catalog = Catalog()
        if sql is None:
            sql = str(file)
        else:
            catalog.load(file)
        catalog.elsewhere = FilesInQueries()
        plan(sql, catalog)  # what is wrong with the query is said before Spark starts
        with _session(state, master, conf, pruning, catalog) as session:
            frame = session.query(sql)
            limited = frame.limit(limit) if limit else frame
            if as_json:
                for line in json_lines(limited, session.timezone):
                    print(shown_json(line))
                print_remarks(catalog, session.state, session.query_counts())
                return
            names = [f"c{i}" for i in range(len(frame.columns))]  # the query's may repeat
            rows = [row.asDict(recursive=True) for row in limited.toDF(*names).collect()]
            texts = tuple(tuple(_cell(row[name]) for name in names) for row in rows)
            print_rows(ResultTable(tuple(frame.columns), texts))
            print_remarks(catalog, session.state, session.query_counts())


@app.command(name="dead-letters")
def dead_letters(
    stream: Annotated[str, typer.Argument(help="The stream, table or sink.")],
    state: State = STATE,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List what could not be read from a stream or written to a sink, with the reason."""
    from narrows.cli.tables import print_rows
    from narrows.state.folder import StateFolder
    from narrows.worker.dead_letters import position_of, read_dead_letters
    from narrows.worker.kept_letters import letters_gone

    with errors_for_people(debug):
        folder = StateFolder(state).dead_letters(stream)
        letters = list(read_dead_letters(folder))
        if gone := letters_gone(folder):
            said = f"{gone:,} older dead letters of `{stream}` were not kept: `max_dead_letters`"
            print(shown(said), file=sys.stderr)
        if as_json:
            for letter in letters:
                print(shown_json(json.dumps(letter, ensure_ascii=False)))
            return
        if not letters:
            print(shown(f"`{state}` has no dead letters of `{stream}`"), file=sys.stderr)
            return
        # Each connector says in its own words where a payload was.
        found = [position_of(letter) for letter in letters]
        columns = tuple(dict.fromkeys(name for position in found for name in position))
        rows = tuple(
            (
                *(_shown_position(name, position.get(name)) for name in columns),
                letter["reason"],
                _shortened(_payload(letter)),
            )
            for letter, position in zip(letters, found, strict=True)
        )
        print_rows(ResultTable((*columns, "reason", "payload"), rows))


@app.command()
def reset(
    pipeline: Annotated[str, typer.Argument(help="The pipeline, or a shared stream.")],
    state: State = STATE,
    debug: Debug = False,
) -> None:
    """Forget what a pipeline has done, so that it starts from the beginning.

    Its output stays, and nothing of it is overwritten: what it writes anew is beside it."""
    from narrows.state.folder import StateFolder

    with errors_for_people(debug):
        folder = StateFolder(state)
        if not folder.knows(pipeline) and folder.shared(pipeline).exists():
            folder.lock()
            folder.reset_stream(pipeline)
            print(shown(f"shared stream {pipeline} will start from the beginning"))
            return
        if not folder.knows(pipeline):
            raise fail(Code.UNKNOWN_OBJECT, f"no pipeline `{pipeline}` has run on `{state}`")
        folder.lock()
        folder.reset(pipeline)
        print(shown(f"pipeline {pipeline} will start from the beginning"))


@app.command()
def demo(
    rows: Annotated[int, typer.Option(help="How many documents to generate.")] = 100_000,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Over topics of Kafka, instead of files.")
    ] = False,
    brokers: Annotated[
        str | None, typer.Option(help="Of which brokers; a clone of Narrows can start one.")
    ] = None,
    mqtt: Annotated[
        bool, typer.Option("--mqtt", help="Over topics of MQTT, instead of files.")
    ] = False,
    broker: Annotated[
        str | None, typer.Option(help="Of which MQTT broker; if mosquitto is there, it is started.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Make nested data, run pipelines over it on an embedded Spark, and show what was saved."""
    from narrows.cli.demo import run_demo

    with errors_for_people(debug):
        run_demo(
            rows,
            kafka=kafka or brokers is not None,
            brokers=brokers,
            mqtt=mqtt or broker is not None,
            broker=broker,
        )


# --- helpers --------------------------------------------------------------------------------------


def _plans(catalog: Catalog, query: str | None, pruning: bool) -> list[tuple[str, Plan]]:
    if query is not None:
        return [("", plan(query, catalog, pruning=pruning))]
    names = [pipeline.name for pipeline in catalog.pipelines]
    return [(name, catalog.plan_pipeline(name, pruning=pruning)) for name in names]


@app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def bench(context: typer.Context) -> None:
    """Measure Narrows against Spark (`--quick` for small data). Needs a checkout of Narrows."""
    script = Path(__file__).parents[3] / "bench" / "run.py"
    if not script.exists():
        print("the benchmarks are not part of the package: run this in a checkout", file=sys.stderr)
        raise typer.Exit(1)
    raise typer.Exit(subprocess.run([sys.executable, str(script), *context.args]).returncode)


def _explained(plans: list[tuple[str, Plan]], mode: ExplainMode, format: str) -> str:
    """All plans as one text, which for JSON and Mermaid is one document."""
    if len(plans) == 1 and not plans[0][0]:
        return plans[0][1].explain(mode, format)
    if format == "json":
        documents = {name: explain_dict(plan, mode) for name, plan in plans}
        return json.dumps(documents, indent=2, ensure_ascii=False)
    if format == "mermaid":
        return flow_chart(dict(plans), mode)
    return "\n\n".join(f"Pipeline {name}\n{plan.explain(mode)}" for name, plan in plans)


def _session(
    state: Path, master: str | None, conf: Sequence[str], pruning: bool, catalog: Catalog
) -> Session:
    settings = spark_settings(conf)
    if sys.stderr.isatty():
        print("starting Spark ...", file=sys.stderr, flush=True)
    from narrows.spark.session import connect

    return connect(master=master, conf=settings, state=state, pruning=pruning, catalog=catalog)


def _cell(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return value
        case dict() | list():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value)


def _payload(letter: Mapping[str, Any]) -> str:
    """The payload of a dead letter; nothing where a row, or a whole file, was bad."""
    if "payload_base64" in letter:
        return f"base64: {letter['payload_base64']}"
    return str(letter.get("payload", ""))


def _shown_position(name: str, value: object) -> str:
    if value is None:
        return ""
    return Path(str(value)).name if name == "file" else str(value)


def _shortened(text: str, width: int = 60) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."
