"""What a command does when something is wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from narrows.cli.shown import shown_error
from narrows.errors import NarrowsError


@contextmanager
def errors_for_people(debug: bool) -> Iterator[None]:
    """A user's fault is a message and exit code 1; a traceback only when asked for."""
    try:
        yield
    except NarrowsError as error:
        if debug:
            raise
        print(shown_error(error), file=sys.stderr)
        raise typer.Exit(1) from None
    except BrokenPipeError:
        sys.stderr.close()  # `narrows explain ... | head`: nobody reads on, which is no error
        raise typer.Exit(0) from None
