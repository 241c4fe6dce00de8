"""`narrows demo`: the product in two minutes, on data it makes, in files or in topics."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from narrows.cli.demo_places import RUNS, Folders, Place
from narrows.cli.progress import leaves, megabytes
from narrows.cli.tables import cell
from narrows.planner.catalog import Catalog
from narrows.spark.run.pipeline_run import PipelineRun
from narrows.spark.session import Session, connect
from narrows.state.folder import StateFolder
from narrows.worker.dead_letters import read_dead_letters

WARM_UP, PRUNED, FULL = RUNS

_STREAM = """
CREATE STREAM vehicles (
  vin STRING, ts TIMESTAMP, speed DOUBLE, odometer BIGINT,
  battery STRUCT<soc: DOUBLE, voltage: DOUBLE, temperature: DOUBLE,
                 cells: ARRAY<STRUCT<voltage: DOUBLE, temperature: DOUBLE, cycles: INT>>>,
  position STRUCT<lat: DOUBLE, lon: DOUBLE, heading: DOUBLE, accuracy: DOUBLE>,
  tyres ARRAY<STRUCT<pressure: DOUBLE, temperature: DOUBLE, age_days: INT>>,
  trip STRUCT<id: STRING, legs: ARRAY<STRUCT<`from`: STRUCT<lat: DOUBLE, lon: DOUBLE>,
                                             `to`: STRUCT<lat: DOUBLE, lon: DOUBLE>, km: DOUBLE>>>,
  faults ARRAY<STRUCT<code: STRING, severity: INT, text: STRING>>,
  labels MAP<STRING, STRING>
) WITH ({source}, format = 'json')
"""

_PIPELINES = {
    "low_pressure": """
SELECT vin, tyres[0]->pressure AS front_left, labels['depot'] AS depot
FROM vehicles
WHERE tyres[0]->pressure < 1.6""",
    "battery_health": """
SELECT vin, battery->soc AS charge, size(battery->cells) AS cells
FROM vehicles
WHERE battery->soc < 10""",
    "faults_by_vehicle": """
SELECT vin, f.code
FROM vehicles LATERAL VIEW explode(faults) t AS f
WHERE f.severity >= 2""",
}


def run_demo(
    count: int,
    *,
    kafka: bool = False,
    brokers: str | None = None,
    mqtt: bool = False,
    broker: str | None = None,
) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=120)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="narrows-demo-")))
        place: Place = Folders(folder)
        if kafka:
            from narrows.cli.demo_topics import topics

            place = stack.enter_context(topics(brokers, folder))
        elif mqtt:
            from narrows.cli.demo_mqtt import mqtt_topics

            place = stack.enter_context(mqtt_topics(broker, folder))
        _Demo(console, folder, place, count).show()


class _Demo:
    def __init__(self, console: Console, folder: Path, place: Place, count: int) -> None:
        self._console = console
        self._folder = folder
        self._place = place
        self._count = count

    def show(self) -> None:
        say = self._console.print
        say("\n[bold]Narrows[/bold]: streaming SQL on Spark that decodes only what is used.\n")
        with self._console.status(f"writing {self._count:,} vehicle messages ..."):
            size = self._place.fill(self._count)
        say(
            f"1. Data: {self._count:,} JSON messages, {megabytes(size)}, 27 leaves each, and four"
            " payloads that are broken."
        )
        say("\n2. Three pipelines, and what each of them needs of a message:")
        catalog = self._catalog(WARM_UP)
        for name, sql in _PIPELINES.items():
            say(f"\n[bold]{name}[/bold]", Text(sql, style="dim"), sep="", highlight=False)
            plan = catalog.plan_pipeline(name)
            source = next(
                line for line in plan.explain("logical").splitlines() if "DataSource" in line
            )
            say(cell(f"   -> {source.split('decoder=json, ')[1]}"))
        say("\n3. Running them on an embedded Spark (the JVM takes some seconds to warm up) ...\n")
        with self._session(catalog, WARM_UP) as session:
            self._timed(session)  # so that the first of the two measured runs is not the cold one
            pruned, seconds = self._timed(self._again(session, PRUNED, pruning=True))
            full, full_seconds = self._timed(self._again(session, FULL, pruning=False))
            self._report(pruned, seconds, full, full_seconds)
            self._results()

    def _catalog(self, run: str) -> Catalog:
        catalog = Catalog()
        catalog.execute(_STREAM.replace("{source}", self._place.source))
        for name, sql in _PIPELINES.items():
            catalog.execute(f"CREATE SINK {name}_out WITH ({self._place.sink(run, name)})")
            catalog.execute(f"CREATE PIPELINE {name} INTO {name}_out AS {sql}")
        return catalog

    def _session(self, catalog: Catalog, state: str) -> Session:
        return connect(state=self._folder / state, catalog=catalog)

    def _again(self, session: Session, state: str, pruning: bool) -> Session:
        """The same pipelines from the beginning: their own state and sinks, the same Spark."""
        return connect(
            session.spark,
            state=self._folder / state,
            catalog=self._catalog(state),
            pruning=pruning,
        )

    def _timed(self, session: Session) -> tuple[list[PipelineRun], float]:
        started = time.monotonic()
        with self._console.status("running ..."):
            run = session.start(*_PIPELINES, once=True).await_done()
        return run.pipelines, time.monotonic() - started

    def _report(
        self, pruned: list[PipelineRun], seconds: float, full: list[PipelineRun], slow: float
    ) -> None:
        table = Table(box=box.SIMPLE)
        for column in ("pipeline", "leaves decoded", "payload read", "shipped to the JVM"):
            left = column == "pipeline"
            table.add_column(column, justify="left" if left else "right", no_wrap=left)
        table.add_column("without pruning", justify="right")
        for mine, theirs in zip(pruned, full, strict=True):
            (counts,) = mine.counts().values()
            (others,) = theirs.counts().values()
            table.add_row(
                cell(mine.name),
                cell(leaves(mine)),
                megabytes(counts.payload_bytes),
                megabytes(counts.arrow_bytes),
                megabytes(others.arrow_bytes),
            )
        self._console.print(table)
        rate = 3 * self._count / seconds
        self._console.print(
            f"   all three: {seconds:.1f} s ({rate:,.0f} messages/s); with pruning switched off,"
            f" Spark being warm by then: {slow:.1f} s. The rows are the same.\n"
        )

    def _results(self) -> None:
        say = self._console.print
        say("4. What came out:\n")
        for name in _PIPELINES:
            rows = self._place.rows("pruned", name)
            say(f"   [bold]{name}[/bold]: {len(rows):,} rows, for example")
            for row in rows[:2]:
                say(cell(f"      {json.dumps(row)}"))
        state = StateFolder(self._folder / "pruned")
        letters = list(read_dead_letters(state.dead_letters("vehicles")))
        say(f"\n5. The broken payloads stopped nothing. They are dead letters ({len(letters)}):\n")
        for letter in letters:
            say(cell(f"      {letter['reason']}: {letter['payload']}"))
        say("\nTry your own: [bold]narrows run pipelines.sql --once[/bold]; see docs/sql.md.\n")
