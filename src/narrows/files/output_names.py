"""What a pipeline's files are called in the folder of a sink, and which files there are its own.

    orders-0000000042-00000.json      published: pipeline, batch, part
    .orders-5f3c...09.writing         of a task that is still writing, or never came to its end
    .orders.published                 what the last batch published, where that is in many folders
    orders-0000000007..0000000041-00000.json    several that were put together: of these batches
    .orders-5f3c...09.together        what they are put together into
    .orders.compacted                 up to which batch that was done

Other pipelines write into the same folder, and so may the user. So a file is taken for a
pipeline's own only if its whole name is one that the pipeline would give: neither a pattern nor
how a name begins will do, for pipelines may be called `*`, `p` and `p-0000000000`.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import NamedTuple

from narrows.files.names import file_name

_WRITING = ".writing"
_TOGETHER = ".together"


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


# --- files that were put together -----------------------------------------------------------------


class OutputFile(NamedTuple):
    """Which batches a file has rows of; in this order are its rows among those of others."""

    first: int
    part: int
    last: int

    def name(self, pipeline: str, suffix: str) -> str:
        """What it is called once it holds several."""
        batches = f"{self.first:010d}..{self.last:010d}"
        return f"{file_name(pipeline)}-{batches}-{self.part:05d}{suffix}"


def output_file(name: str, pipeline: str, suffix: str) -> OutputFile | None:
    """What a name says; None if it is not one that the pipeline gives."""
    mine, ends = re.escape(file_name(pipeline)), re.escape(suffix)
    number = "([0-9]{10,})"
    form = rf"{mine}-{number}(?:\.\.{number})?-([0-9]{{5,}}){ends}"
    found = re.fullmatch(form, name)
    if found is None:
        return None
    first, last, part = found.groups()
    return OutputFile(int(first), int(part), int(last or first))


def together_name(pipeline: str) -> str:
    """A name for what files are put together into, until it takes their place."""
    return f".{file_name(pipeline)}-{uuid.uuid4().hex}{_TOGETHER}"


def is_together(name: str, pipeline: str) -> bool:
    mine = re.escape(file_name(pipeline))
    return re.fullmatch(rf"\.{mine}-[0-9a-f]{{32}}{re.escape(_TOGETHER)}", name) is not None


def compacted_name(pipeline: str) -> str:
    """Where it is written down what has been put together."""
    return f".{file_name(pipeline)}.compacted"
