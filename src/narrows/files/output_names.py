"""What a pipeline's files are called in the folder of a sink, and which files there are its own.

    orders-0000000042-00000.json      published: pipeline, batch, part
    .orders-5f3c...09.writing         of a task that is still writing, or never came to its end
    .orders.published                 what the last batch published, where that is in many folders

Other pipelines write into the same folder, and so may the user. So a file is taken for a
pipeline's own only if its whole name is one that the pipeline would give: neither a pattern nor
how a name begins will do, for pipelines may be called `*`, `p` and `p-0000000000`.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from narrows.files.names import file_name

_WRITING = ".writing"


@dataclass(frozen=True)
class BatchFiles:
    """The names of what a batch publishes."""

    pipeline: str
    batch: int
    suffix: str

    def name(self, part: int) -> str:
        return f"{self._begin}{part:05d}{self.suffix}"

    def owns(self, name: str) -> bool:
        part = name.removeprefix(self._begin).removesuffix(self.suffix)
        return re.fullmatch("[0-9]+", part) is not None and name == self.name(int(part))

    @property
    def _begin(self) -> str:
        return f"{file_name(self.pipeline)}-{self.batch:010d}-"


def is_published(name: str, pipeline: str, suffix: str) -> bool:
    """Is this what some batch of the pipeline has published?"""
    mine, ends = re.escape(file_name(pipeline)), re.escape(suffix)
    return re.fullmatch(rf"{mine}-[0-9]{{10,}}-[0-9]{{5,}}{ends}", name) is not None


def unpublished_name(pipeline: str) -> str:
    """A name for what a task writes, until it is published; nobody else has it."""
    return f".{file_name(pipeline)}-{uuid.uuid4().hex}{_WRITING}"


def is_unpublished(name: str, pipeline: str) -> bool:
    """Is this what a task of the pipeline writes or wrote?"""
    mine = re.escape(file_name(pipeline))
    return re.fullmatch(rf"\.{mine}-[0-9a-f]{{32}}{re.escape(_WRITING)}", name) is not None


def journal_name(pipeline: str) -> str:
    """Where a pipeline writes down what its last batch published."""
    return f".{file_name(pipeline)}.published"
