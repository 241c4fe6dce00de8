"""What the user is told when something is wrong.

Two kinds of fault, two types: a `NarrowsError` is the user's to mend and always carries a code, a
primary message (lower case, no full stop), the place in the text and, where we can think of one, a
hint that can be pasted. An `InternalError` is our bug.

One error may hold several problems, because a query with three misspelt columns should be mended
in one go.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from narrows.secrets import without_passwords, without_secrets


class Code(StrEnum):
    """Stable names for what can be wrong; users may match on them."""

    SYNTAX_ERROR = "syntax_error"
    NESTED_TOO_DEEPLY = "nested_too_deeply"
    NOT_SUPPORTED = "not_supported"
    UNKNOWN_SOURCE = "unknown_source"
    UNKNOWN_OBJECT = "unknown_object"
    DUPLICATE_OBJECT = "duplicate_object"
    OBJECT_IN_USE = "object_in_use"
    INVALID_NAME = "invalid_name"
    UNKNOWN_COLUMN = "unknown_column"
    UNKNOWN_QUALIFIER = "unknown_qualifier"
    AMBIGUOUS_COLUMN = "ambiguous_column"
    DUPLICATE_COLUMN = "duplicate_column"
    UNKNOWN_FIELD = "unknown_field"
    NOT_A_STRUCT = "not_a_struct"
    NOT_A_LIST = "not_a_list"
    WRONG_TYPE = "wrong_type"
    UNKNOWN_TYPE = "unknown_type"
    UNKNOWN_FUNCTION = "unknown_function"
    WRONG_ARITY = "wrong_arity"
    MISPLACED_FUNCTION = "misplaced_function"
    NOT_GROUPED = "not_grouped"
    INVALID_WINDOW = "invalid_window"
    UNKNOWN_OPTION = "unknown_option"
    INVALID_OPTION = "invalid_option"
    UNKNOWN_CONNECTOR = "unknown_connector"
    UNKNOWN_FORMAT = "unknown_format"
    BROKEN_PACKAGE = "broken_package"
    READS_ITS_OUTPUT = "reads_its_output"
    BAD_PAYLOAD = "bad_payload"
    UNREADABLE_FILE = "unreadable_file"
    SOURCE_UNAVAILABLE = "source_unavailable"
    SOURCE_FULL = "source_full"
    TOO_LARGE = "too_large"
    INVALID_REQUEST = "invalid_request"
    SINK_UNAVAILABLE = "sink_unavailable"
    BROKER_ERROR = "broker_error"
    STATE_IN_USE = "state_in_use"
    CHECKPOINT_MISMATCH = "checkpoint_mismatch"
    PIPELINE_FAILED = "pipeline_failed"
    QUERY_FAILED = "query_failed"
    TOO_MANY_QUERIES = "too_many_queries"
    NO_FREE_CORE = "no_free_core"
    NOT_READY = "not_ready"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    REFUSED = "refused"
    SPARK_NOT_STARTED = "spark_not_started"


class Span(NamedTuple):
    """A stretch of the statement text, as character offsets; `end` is exclusive."""

    start: int
    end: int

    @staticmethod
    def around(spans: Iterable[Span | None]) -> Span | None:
        """The smallest span that holds all the given ones."""
        known = [span for span in spans if span is not None]
        if not known:
            return None
        return Span(min(span.start for span in known), max(span.end for span in known))


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    code: Code
    message: str
    span: Span | None = None
    hint: str | None = None

    def __post_init__(self) -> None:
        """Messages have texts of clients and systems in them, and those may have URLs."""
        object.__setattr__(self, "message", without_passwords(self.message))


class NarrowsError(Exception):
    """The user's fault: one or more problems in a text that the user gave us."""

    def __init__(
        self,
        *problems: Problem,
        text: str | None = None,
        filename: str | None = None,
        secrets: Sequence[Span] = (),
    ) -> None:
        super().__init__(*problems)
        self._secrets = secrets
        """Where in the text something stands that is not to be shown, whatever it is called."""
        self.problems: tuple[Problem, ...] = problems
        self.text = text
        self.filename = filename

    @property
    def code(self) -> Code:
        return self.problems[0].code

    def located(self, text: str, filename: str | None = None) -> NarrowsError:
        """This error with the text its spans point into, for whoever raised it did not have it.
        Passwords in it are nobody's business."""
        for span in self._secrets:
            text = text[: span.start] + "*" * (span.end - span.start) + text[span.end :]
        text = without_secrets(text)
        if self.text is None:
            self.text = text
        if self.filename is None and self.text == text:
            self.filename = filename
        return self

    def __str__(self) -> str:
        return "\n\n".join(render(p, self.text, self.filename) for p in self.problems)


class InternalError(Exception):
    """Our fault: an invariant of ours does not hold. Never caught, never shown as user's fault."""


def fail(
    code: Code, message: str, span: Span | None = None, hint: str | None = None
) -> NarrowsError:
    """An error with a single problem, to be raised by the caller."""
    return NarrowsError(Problem(code, message, span, hint))


def joined(errors: Sequence[NarrowsError]) -> NarrowsError:
    """One error with the problems of several, which are all in one text."""
    problems = [problem for error in errors for problem in error.problems]
    secrets = [span for error in errors for span in error._secrets]
    return NarrowsError(*problems, secrets=secrets)


def did_you_mean(wrong: str, candidates: Iterable[str]) -> str | None:
    """A hint naming the nearest candidate, if one is near."""
    near = nearest(wrong, candidates)
    return f"did you mean `{near}`?" if near is not None else None


def nearest(wrong: str, candidates: Iterable[str]) -> str | None:
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    folded = wrong.casefold()
    for match in difflib.get_close_matches(folded, list(by_folded), n=1, cutoff=0.6):
        # `int` is all in `variant`, and is not what somebody meant who wrote that.
        shorter, longer = sorted((len(match), len(folded)))
        if longer - shorter <= max(2, shorter // 2):
            return by_folded[match]
    return None


def listed(names: Sequence[str], limit: int = 8) -> str:
    """`a, b, c` for a message, cut when there are many."""
    shown = ", ".join(names[:limit])
    return shown if len(names) <= limit else f"{shown}, ... {len(names) - limit} more"


def render(problem: Problem, text: str | None, filename: str | None = None) -> str:
    """The problem as the user sees it.

    ```
    error[unknown_field]: field `b` not found in `struct{c, d}`
     --> 1:18
      |
    1 | SELECT items[0]->b FROM stream_3
      |                  ^
      = hint: did you mean `d`?
    ```
    """
    lines = [f"error[{problem.code}]: {problem.message}"]
    gutter = " "
    if problem.span is not None and text is not None:
        row, column, line = _line_of(text, problem.span.start)
        where = f"{row}:{column + 1}"
        gutter = " " * len(str(row))
        lines.append(f"{gutter}--> {f'{filename}:' if filename else ''}{where}")
        shown, offset = _window(line, column)
        width = max(1, min(problem.span.end - problem.span.start, len(line) - column))
        width = max(1, min(width, len(shown) - (column - offset)))
        lines.append(f"{gutter} |")
        lines.append(f"{row} | {shown}".rstrip())
        lines.append(f"{gutter} | {' ' * (column - offset)}{'^' * width}")
    elif filename:
        lines.append(f"{gutter}--> {filename}")
    if problem.hint:
        lines.append(f"{gutter} = hint: {problem.hint}")
    return "\n".join(lines)


def _line_of(text: str, offset: int) -> tuple[int, int, str]:
    """1-based row, 0-based column and the line itself (tabs made one space wide)."""
    offset = min(offset, len(text))
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    line = text[start:] if end < 0 else text[start:end]
    return text.count("\n", 0, start) + 1, offset - start, line.replace("\t", " ").rstrip("\r")


def _window(line: str, column: int, before: int = 60, width: int = 120) -> tuple[str, int]:
    """The part of a line around the column, for a line of 15 000 columns is no help to anybody."""
    if len(line) <= width:
        return line, 0
    start = max(0, min(column - before, len(line) - width))
    cut = line[start : start + width]
    if start > 0:
        cut = "..." + cut[3:]
    if start + width < len(line):
        cut = cut[:-3] + "..."
    return cut, start
