"""Data on a terminal: shown, never obeyed.

Payloads, names, paths and messages come from anywhere. A terminal takes some characters for
commands: to move the cursor, to change what was printed before, to turn the writing around. They
are printed as their escapes, `\\x1b` for ESC, and so is a line break where a line is one thing.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from dataclasses import replace

from narrows.errors import NarrowsError, render

_COMMANDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Kinds of characters that do something and show nothing; or, surrogates, that nothing can show."""
_JOINERS = "\u200c\u200d"
"""Invisible, too, but some languages are not written without them."""


def shown(text: str, keep: str = "") -> str:
    """The text as a terminal may have it; `keep` are characters that it shall obey.

    >>> print(shown("a\\x1b[31mb\\n"))
    a\\x1b[31mb\\n
    """
    return _replaced(text, keep, lambda command: command.encode("unicode_escape").decode("ascii"))


def shown_lines(text: str) -> str:
    """The same for a text of several lines."""
    return shown(text, keep="\n")


def shown_json(text: str) -> str:
    """The same for JSON, which stays JSON of the same value."""
    return _replaced(text, "\n", lambda command: json.dumps(command)[1:-1])


def shown_field(text: str) -> str:
    """The same for a field of tab-separated values: a row is a line, and what was escaped can be
    told from what was not."""
    return shown(text.replace("\\", "\\\\"))


def shown_error(error: NarrowsError) -> str:
    """What a user is told of an error, with the statement it is about."""
    # In the statement, one character for one: the caret below must point at the same place.
    text = error.text
    if text is not None:
        text = _replaced(
            text.replace("\r\n", " \n"), "\n\t", lambda command: "\N{REPLACEMENT CHARACTER}"
        )
    filename = None if error.filename is None else shown(error.filename)
    problems = [
        replace(
            problem,
            message=shown(problem.message),
            hint=None if problem.hint is None else shown(problem.hint),
        )
        for problem in error.problems
    ]
    return "\n\n".join(render(problem, text, filename) for problem in problems)


def _replaced(text: str, keep: str, by: Callable[[str], str]) -> str:
    if text.isprintable():
        return text
    kept = keep + _JOINERS
    return "".join(
        by(character)
        if unicodedata.category(character) in _COMMANDS and character not in kept
        else character
        for character in text
    )
