"""The options that all sources, all sinks, or all pipelines, have.

Every connector and every format declares some of sources and sinks besides (`plugins/declared.py`).
"""

from __future__ import annotations

from narrows.plugins.options import DEFAULT_FORMAT, OptionSpec
from narrows.plugins.row_text import columns_of_list
from narrows.plugins.sampling import SAMPLE

FORMAT = OptionSpec("format", "how a payload is written", default=DEFAULT_FORMAT)
CONNECTOR = OptionSpec("connector", "where payloads come from or go to", required=True)

TABLE_OPTIONS: tuple[OptionSpec, ...] = (
    CONNECTOR,
    FORMAT,
    OptionSpec(
        "on_error",
        "what becomes of a payload that cannot be read",
        default="dead_letter",
        choices=("dead_letter", "drop", "fail"),
    ),
    OptionSpec(
        "max_dead_letters",
        "how many dead letters are kept; the newest are",
        type=int,
        least=1,
    ),
)

EVENT_TIME_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec("eventtime", "the column that says when a row happened"),
    OptionSpec(
        "eventtime_unit",
        "what an event time of type BIGINT counts since 1970",
        choices=("s", "ms", "us"),
    ),
    OptionSpec("watermark", "how late a row may come", duration=True),
)

ON_CHANGE = OptionSpec(
    "on_change",
    "only rows in which one of these values is another than in the row before: `'a, b->c'`",
)
ON_CHANGE_BY = OptionSpec(
    "on_change_by",
    "the row before is the last one with the same values of these: `'vin'`",
    needs="on_change",
)

STREAM_OPTIONS: tuple[OptionSpec, ...] = (
    *TABLE_OPTIONS,
    OptionSpec("shared", "decode once for all running pipelines", type=bool, default=False),
    OptionSpec(
        "start_at",
        "where a new pipeline begins on a shared stream",
        choices=("latest", "earliest"),
    ),
    *EVENT_TIME_OPTIONS,
    SAMPLE,
    ON_CHANGE,
    ON_CHANGE_BY,
)

DELTA_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec(
        "delta_key",
        "columns, with commas between them: a row is compared with the last one that had the same"
        " values there; if not given, with the last one of all",
        columns_in=columns_of_list,
    ),
    OptionSpec(
        "delta_columns",
        "columns that are compared, with commas between them; if not given, all but those of the"
        " key and those that say where a row goes",
        columns_in=columns_of_list,
    ),
    OptionSpec("delta_mask", "a column to add that names what has changed: `speed,rpm`"),
    OptionSpec("omit_if_empty", "leave out rows in which nothing has changed", type=bool),
)
"""What goes with `mode = 'delta'`."""

SINK_OPTIONS: tuple[OptionSpec, ...] = (
    CONNECTOR,
    OptionSpec("format", FORMAT.doc),
    OptionSpec(
        "mode",
        "what is written: whole rows (`full`, if nothing is said), what of them has changed"
        " (`delta`), or, of aggregates without window, rows that stand for earlier ones (`update`),"
        " take their place (`upsert`), or follow a row that takes them back (`retract`)",
        choices=("full", "delta", "update", "upsert", "retract"),
    ),
    *DELTA_OPTIONS,
)

LATENCY, LOW, TASKS = "latency", "low", "tasks"

PIPELINE_OPTIONS: tuple[OptionSpec, ...] = (
    OptionSpec(
        LATENCY,
        "`low`: rows are written within milliseconds, by tasks that run as long as the pipeline",
        default="normal",
        choices=("normal", LOW),
    ),
    OptionSpec(
        TASKS, "how many such tasks; each occupies a core of Spark's", type=int, default=1, least=1
    ),
)
