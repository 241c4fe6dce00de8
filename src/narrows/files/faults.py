"""What is wrong with a file, and whether it is worth another try.

Three kinds of fault, for readers do something else about each:

* a `DamagedFileError`: the file can be read, but is not what its format says;
* a `LostFileError`: the file, or the end of it, is not there for us, and waiting will not help;
* any other `NarrowsError`: the system had a bad moment. The batch fails, and is run again.
"""

from __future__ import annotations

import errno
import os
import re

from narrows.errors import Code, NarrowsError, Problem, fail

_LASTING = frozenset(
    {
        errno.ENOENT,
        errno.ENOTDIR,
        errno.EACCES,
        errno.EPERM,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
    }
)
"""What the system says today and will say tomorrow, unless somebody does something about it."""

_LASTING_TYPES = FileNotFoundError, NotADirectoryError, PermissionError, IsADirectoryError
_NUMBER_IN_TEXT = re.compile(r"\(os error (\d+)\)")


class DamagedFileError(NarrowsError):
    """A file can be read, but what it holds is not what its format says: it was cut off, or bytes
    of it have changed. Reading it again will not help."""

    @property
    def reason(self) -> str:
        return f"the file is damaged, and was read up to here: {self.problems[0].message}"


class LostFileError(NarrowsError):
    """A file was there when it was listed, and now it, or the end of it, cannot be had."""

    def __init__(self, *problems: Problem, kept: int = 0) -> None:
        super().__init__(*problems)
        self.kept = kept
        """How many bytes of the file are there to be read."""

    @property
    def reason(self) -> str:
        return self.problems[0].message


def shown(path: str) -> str:
    """A path as text that can be written anywhere.

    The system's names are bytes. Those that are not UTF-8 are strings with lone surrogates in
    Python, which no UTF-8 file, terminal or JVM takes; they are shown as `\\xff`.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def lasts(error: OSError) -> bool:
    """Will the system say the same the next time we ask?"""
    return isinstance(error, _LASTING_TYPES) or _number(error) in _LASTING


def unreadable(path: str, error: Exception) -> NarrowsError:
    """What the system has against a file."""
    number = _number(error)
    text = str(error) if number is None else os.strerror(number)
    found = _cannot_read(path, text)
    lasting = isinstance(error, OSError) and lasts(error)
    return LostFileError(*found.problems) if lasting else found


def damaged_or_unreadable(path: str, error: Exception) -> NarrowsError:
    """What Arrow's readers have against a file: the system's errors have a number, others none."""
    found = unreadable(path, error)
    if isinstance(found, LostFileError) or _number(error) is not None:
        return found
    return DamagedFileError(*found.problems)


def damaged(path: str, reason: str) -> DamagedFileError:
    """A file whose bytes are all there, but do not make sense any more."""
    return DamagedFileError(*_cannot_read(path, reason).problems)


def not_a_file(path: str) -> LostFileError:
    """A file has become something else: a folder, or a pipe on which a reader would wait."""
    return LostFileError(*_cannot_read(path, "it is not a regular file").problems)


def shorter(path: str, was: int, now: int) -> LostFileError:
    message = (
        f"file `{shown(path)}` is shorter than it was when it was listed:"
        f" {now} bytes are left of {was}"
    )
    hint = "write files once, then rename them"
    return LostFileError(Problem(Code.UNREADABLE_FILE, message, None, hint), kept=now)


def shrunk(path: str) -> NarrowsError:
    """A file became shorter while we read it; whoever reads it again sees how long it is."""
    message = f"file `{shown(path)}` is shorter than it was when it was listed"
    return fail(Code.UNREADABLE_FILE, message, None, "write files once, then rename them")


def _cannot_read(path: str, reason: str) -> NarrowsError:
    return fail(Code.UNREADABLE_FILE, f"cannot read file `{shown(path)}`: {reason}")


def _number(error: Exception) -> int | None:
    """The system's number of an error, which our kernel says in words only."""
    if not isinstance(error, OSError):
        return None
    if error.errno is not None:
        return error.errno
    in_text = _NUMBER_IN_TEXT.search(str(error))
    return None if in_text is None else int(in_text[1])
