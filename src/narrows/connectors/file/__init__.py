"""Files in a folder: which are new, who reads which part, how they are published."""

from __future__ import annotations

import os
from collections.abc import Mapping

from narrows.connectors.base import (
    Connector,
    Decoding,
    RangeReader,
    SinkConnector,
    SourceConnector,
    SourceDeclaration,
)
from narrows.connectors.target import SinkTarget
from narrows.plugins.options import OptionSpec, OptionValue
from narrows.plugins.row_text import columns_of_list
from narrows.schema import STRING, Struct


def _source(declared: SourceDeclaration) -> SourceConnector:
    if "replay" in declared.options:
        from narrows.connectors.file.paced import PacedFileSource

        return PacedFileSource(declared)
    from narrows.connectors.file.source import FileSource

    return FileSource(declared)


def _reader(declared: SourceDeclaration, decoding: Decoding) -> RangeReader:
    from narrows.connectors.file.reader import FileReader

    return FileReader(declared, decoding)


def _sink(target: SinkTarget) -> SinkConnector:
    from narrows.connectors.file.sink import FileSink

    return FileSink(target)


def _put_back(declared: SourceDeclaration, name: str, payload: bytes) -> None:
    from narrows.connectors.file.replay import put_back

    put_back(declared, name, payload)


def _reads_back(source: Mapping[str, object], sink: Mapping[str, object]) -> tuple[str, str] | None:
    from narrows.files.overlap import overlap

    read, written = str(source["path"]), str(sink["path"])
    return (read, written) if overlap(read, written) else None


def _check_outputs(outputs: Struct, options: Mapping[str, object]) -> str | None:
    partitions = {name.casefold() for name in columns_of_list(str(options.get("partition_by", "")))}
    if partitions and partitions.issuperset(name.casefold() for name in outputs.names):
        return "all its columns are in `partition_by`, and nothing is left for the files"
    return None


def _is_no_speed(option: str, value: OptionValue) -> str | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return None if is_number and float(str(value)) > 0 else "takes a number above 0"


def _compact(target: SinkTarget, size: int) -> tuple[int, int]:
    from narrows.connectors.file.compaction import compact

    return compact(target, size)


CONNECTOR = Connector(
    name="file",
    source_options=(
        OptionSpec("path", "folder, file or glob", required=True, is_path=True),
        OptionSpec(
            "on_missing",
            "what becomes of a file that is gone, or shorter, when it is read",
            default="dead_letter",
            choices=("dead_letter", "fail"),
        ),
        OptionSpec("max_files_per_trigger", "files that one micro-batch takes", type=int),
        OptionSpec("max_bytes_per_trigger", "bytes that one micro-batch takes", type=int),
        OptionSpec(
            "replay",
            "the column that says when a row happened: rows of a stream come as fast as they did",
            explained=True,
            of_entries=True,
            names_time=True,
        ),
        OptionSpec(
            "speed",
            "how many times as fast a recording is replayed; if not given, as fast as it was",
            type=None,
            explained=True,
            needs="replay",
            refuses=_is_no_speed,
            hint="for example 10, or 0.5 for half as fast",
        ),
    ),
    sink_options=(
        OptionSpec("path", "folder to write into", required=True, is_path=True),
        OptionSpec("batch_count", "rows that one file holds at most", type=int, least=1),
        OptionSpec("batch_duration", "how long rows are gathered", duration=True),
        OptionSpec(
            "partition_by",
            "columns, with commas between them, that make the folders of rows: `day=2026-11-15/`",
            columns_in=columns_of_list,
        ),
    ),
    check_outputs=_check_outputs,
    metadata={"_file": STRING},
    identity=("path",),
    guarantee="exactly once",
    publishes_files=True,
    reads_back=_reads_back,
    samples=True,
    source=_source,
    reader=_reader,
    sink=_sink,
    put_back=_put_back,
    compact=_compact,
    place=lambda options, folder: os.path.abspath(str(options["path"])),
)
