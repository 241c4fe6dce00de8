"""The options of every stream that is written to a log first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from narrows.plugins.options import OptionSpec, parse_duration
from narrows.plugins.start_at import EARLIEST, LATEST, START_AT

if TYPE_CHECKING:  # planning loads the declarations, and must not load Arrow
    from narrows.connectors.received.log_files import LogLimits

LOG_OPTIONS: Final = (
    OptionSpec(
        "sync_interval",
        "messages that come within this time are written to the disk together",
        default="50 ms",
        duration=True,
    ),
    OptionSpec(
        "max_log_bytes",
        "bytes of messages that wait to be read; when there are more, none is acknowledged",
        type=int,
        default=4 << 30,
        least=1,
    ),
    OptionSpec(
        "dedupe_by",
        "columns that tell messages apart, `'id'` or `'vehicle, header.id'`: of those with the same"
        " values only the first is taken",
        names_columns=True,
    ),
    OptionSpec(
        "dedupe_last",
        "how many messages back `dedupe_by` knows",
        type=int,
        default=100_000,
        least=1,
    ),
    OptionSpec(
        START_AT,
        "where a pipeline begins that reads it for the first time: with what is kept, or with what"
        " comes",
        default=EARLIEST,
        choices=(EARLIEST, LATEST),
    ),
    OptionSpec(
        "on_missing",
        "what becomes of messages that are gone when they are read",
        default="dead_letter",
        choices=("dead_letter", "fail"),
    ),
    OptionSpec(
        "max_messages_per_trigger", "messages that one micro-batch takes", type=int, least=1
    ),
    OptionSpec(
        "max_bytes_per_trigger", "bytes that one micro-batch takes, about", type=int, least=1
    ),
)


def log_limits(options: Mapping[str, Any]) -> LogLimits:
    from narrows.connectors.received.log_files import LogLimits

    interval = (parse_duration(str(options["sync_interval"])) or 0) / 1_000
    return LogLimits(interval, int(str(options["max_log_bytes"])))
