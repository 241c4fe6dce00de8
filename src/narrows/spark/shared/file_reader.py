"""Files as a Python data source of Spark's takes them: the base of a shared stream's ingest.

Streams that are not shared do without (`turn_source.py`), but an ingest must be asked, before every
micro-batch, what its consumers need by now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)

from narrows.connectors.file.file_log import FileLog
from narrows.files.listing import FileEntry, list_files
from narrows.spark.read.source import shared_out
from narrows.worker.read_spec import ReadSpec


class FileStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Files as they come. An offset is the number of an entry in the log of files taken."""

    def __init__(self, spec: ReadSpec) -> None:
        self.spec = spec
        self._log: FileLog | None = None
        self._until: list[FileEntry] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The reader is pickled for the workers, which have no business with the log.
        return {"spec": self.spec, "_log": None, "_until": None}

    @property
    def log(self) -> FileLog:
        if self._log is None:
            assert self.spec.file_log is not None
            self._log = FileLog(self.spec.file_log)
        return self._log

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"entry": -1}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._until = list_files(self.spec.path, missing_ok=True)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        # The limits are ours (they combine files and bytes), so Spark need not know them.
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        taken = start["entry"]
        if self.log.last() < taken:
            raise self.log.is_behind(taken)  # new files would get numbers that have been read
        if self.log.last() > taken:
            # After a crash: an entry that Spark did not journal is given again, as it was.
            return {"entry": taken + 1}
        candidates = self._until
        if candidates is None:
            candidates = list_files(self.spec.path, missing_ok=True)
        files, size = (
            self.spec.limit("max_files_per_trigger"),
            self.spec.limit("max_bytes_per_trigger"),
        )
        return {"entry": self.log.admit(candidates, max_files=files, max_bytes=size)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        files = self.log.entries(after=start["entry"], upto=end["entry"])
        return shared_out(self.spec, files, batch=end["entry"])
