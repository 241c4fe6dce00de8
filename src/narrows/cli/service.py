"""Commands that are a service, or talk to one: serve, ps, start, stop, restart, status, tail."""

from __future__ import annotations

import json
import os
from enum import Enum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.catalog.describe import ResultTable
from narrows.cli.errors import errors_for_people
from narrows.cli.options import STATE, AsJson, Conf, Debug, Master, State, spark_settings
from narrows.cli.shown import shown, shown_json, shown_lines
from narrows.errors import Code, fail
from narrows.service.client import DEFAULT_SERVER, Client

if TYPE_CHECKING:
    from narrows.planner.catalog import Catalog
    from narrows.spark.session import Session
    from narrows.state.folder import StateFolder

Server = Annotated[
    str, typer.Option("--server", metavar="URL", envvar="NARROWS_SERVER", help="The service.")
]
PipelineName = Annotated[str, typer.Argument(metavar="PIPELINE", help="A pipeline.")]
PipelineNames = Annotated[
    list[str], typer.Argument(metavar="PIPELINE...", help="One pipeline, or several.")
]


class RestartPolicy(Enum):
    never = "never"
    transient = "transient"
    always = "always"


class LogStyle(Enum):
    lines = "lines"
    json = "json"


def add_service_commands(app: typer.Typer) -> None:
    for command in (serve, ps, start, stop, restart, status, tail):
        app.command()(command)


# --- the service ----------------------------------------------------------------------------------


def serve(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE.sql...", help="Declarations, and pipelines to start."),
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen. Elsewhere than here NARROWS_TOKEN must be set.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port.")] = 8765,
    trigger: Annotated[str, typer.Option(help="How often to look for new payloads.")] = "1 second",
    restart: Annotated[
        RestartPolicy, typer.Option(help="After which failures a pipeline is started again.")
    ] = RestartPolicy.transient,
    allow_path: Annotated[
        list[Path],
        typer.Option(metavar="FOLDER", help="Only paths in such folders; may be repeated."),
    ] = [],  # noqa: B006
    log_format: Annotated[LogStyle, typer.Option(help="How to write the log.")] = LogStyle.lines,
    state: State = STATE,
    master: Master = None,
    conf: Conf = [],  # noqa: B006
    debug: Debug = False,
) -> None:
    """Serve the HTTP API and the page: pipelines come and go, and survive a restart."""
    with errors_for_people(debug):
        if find_spec("fastapi") is None or find_spec("uvicorn") is None:
            hint = "install it with `pip install 'narrows[service]'`"
            raise fail(Code.NOT_SUPPORTED, "the service is not installed", hint=hint)
        from narrows.service.core import Service
        from narrows.service.http.server import serve as run_server
        from narrows.state.before_start import check_settings
        from narrows.state.folder import StateFolder

        check_settings(trigger, None)
        settings = spark_settings(conf)

        def open_session(folder: StateFolder, catalog: Catalog) -> Session:
            from narrows.spark.run.embedded import embedded_session
            from narrows.spark.session import Session

            spark = embedded_session(master, settings, folder.path / "spark.log")
            return Session(
                spark,
                state=folder,
                pruning=True,
                catalog=catalog,
                owns_spark=True,
                looks_elsewhere=False,
            )

        service = Service(
            StateFolder(state),
            open_session,
            trigger=trigger,
            restart=restart.value,
            allowed=allow_path,
        )
        run_server(
            service,
            files or [],
            host=host,
            port=port,
            token=os.environ.get("NARROWS_TOKEN"),
            log_format=log_format.value,
        )


# --- asking one -----------------------------------------------------------------------------------


def ps(server: Server = DEFAULT_SERVER, as_json: AsJson = False, debug: Debug = False) -> None:
    """List the pipelines of a service: what they shall do, and what they do."""
    from narrows.cli.tables import print_rows

    with errors_for_people(debug):
        found = Client(server).status()
        if as_json:
            print(shown_json(json.dumps(list(found.values()), indent=2)))
            return
        columns = ("pipeline", "desired", "actual", "restarts", "reads", "writes", "error")
        rows = tuple(
            (
                each["name"],
                each["desired"],
                each["actual"],
                str(each["restarts"]),
                ", ".join(each["sources"]),
                ", ".join(each["sinks"]),
                each["error"] or "",
            )
            for each in found.values()
        )
        print_rows(ResultTable(columns, rows))


def start(pipelines: PipelineNames, server: Server = DEFAULT_SERVER, debug: Debug = False) -> None:
    """Start pipelines of a service."""
    with errors_for_people(debug):
        for name in pipelines:
            _print_state(Client(server).start(name))


def stop(pipelines: PipelineNames, server: Server = DEFAULT_SERVER, debug: Debug = False) -> None:
    """Stop pipelines of a service. They go on from there when they are started again."""
    with errors_for_people(debug):
        for name in pipelines:
            _print_state(Client(server).stop(name))


def restart(
    pipelines: PipelineNames, server: Server = DEFAULT_SERVER, debug: Debug = False
) -> None:
    """Stop pipelines of a service, and start them again."""
    with errors_for_people(debug):
        for name in pipelines:
            _print_state(Client(server).restart(name))


def status(
    pipeline: PipelineName,
    server: Server = DEFAULT_SERVER,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show what a pipeline of a service does, reads and has counted."""
    with errors_for_people(debug):
        found = Client(server).pipeline(pipeline)
        print(shown_json(json.dumps(found, indent=2)) if as_json else _status_text(found))


def tail(
    pipeline: PipelineName,
    last: Annotated[int, typer.Option(help="Begin with so many rows that are there.")] = 10,
    server: Server = DEFAULT_SERVER,
    debug: Debug = False,
) -> None:
    """Print the rows of a pipeline as they come, until Ctrl-C."""
    with errors_for_people(debug):
        try:
            for event in Client(server, timeout=None).tail(pipeline, last=last):
                print(shown_json(json.dumps(event["row"], ensure_ascii=False)), flush=True)
        except KeyboardInterrupt:
            raise typer.Exit(0) from None


def explain_there(server: str, sql: str, mode: str, format: str, *, pruning: bool) -> None:
    """EXPLAIN by the catalog of a service; `sql` may be the name of one of its pipelines."""
    client = Client(server)
    if sql.casefold() in {name.casefold() for name in client.status()}:
        sql = client.pipeline(sql)["sql"]
    found = client.explain(sql, mode, pruning=pruning)
    if format == "json":
        print(shown_json(json.dumps(found["plan"], indent=2, ensure_ascii=False)))
    else:
        print(shown_lines(found[format]))


def _print_state(found: dict[str, Any]) -> None:
    print(shown(f"{found['name']}: {found['actual']}"))


def _status_text(found: dict[str, Any]) -> str:
    lines = [f"{found['name']}: {found['actual']}, shall be {found['desired']}"]
    if found["error"]:
        lines.append(f"error: {found['error']}")
    for read in found["reads"]:
        share = f"{read['leaves_decoded']} of {read['leaves']} leaves"
        lines.append(f"reads {read['source']}: {share}: {', '.join(read['columns'])}")
    stats = found["stats"] or {"read": {}, "shared": {}}
    for source, counts in stats["read"].items():
        lines.append(
            f"{source}: {counts['payloads']:,} payloads, {counts['payload_bytes']:,} bytes in,"
            f" {counts['arrow_bytes']:,} decoded, {counts['bad']:,} bad"
        )
    for stream, shared in stats["shared"].items():
        lines.append(f"{stream}: shared, version {shared['version']}, lag {shared['lag']}")
    return "\n".join(shown(line) for line in lines)
