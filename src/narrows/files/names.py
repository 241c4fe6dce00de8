"""Names of objects as names of files.

A name may be anything that stands between backquotes: `../../x`, `*`, a line break. What becomes
part of a path is never the name itself but its file name, which is a single plain component:

    orders           orders
    Orders           orders                 names have no case, on no file system
    my-orders        my-orders
    ../../x          ~2e~2e~2f~2e~2e~2fx    what is not plain, byte by byte
    _x               ~5fx                   whoever reads files skips those with `_` and `.`

Different names have different file names, so no object ever finds the files of another. We escape
with `~` and not with `%`, because somebody on the way of a path - Spark, an object store - may take
it for a URL, and a tilde means the same there.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import unquote_to_bytes

from narrows.errors import Code, Span, fail

_NOT_PLAIN = re.compile(rb"^[_-]|[^a-z0-9_-]")
_LONGEST = 120
"""A file system takes 255 bytes, and what is made of a file name has more parts than that."""
_CUT = "~~"
"""Stands before the hash of a name that is too long; no other file name has it."""


def file_name(name: str) -> str:
    """What a name is called on the disk.

    >>> file_name("Orders"), file_name("a/b")
    ('orders', 'a~2fb')
    """
    check_name(name)
    plain = name.casefold().encode("utf-8", "surrogatepass")
    escaped = _NOT_PLAIN.sub(lambda found: b"~%02x" % found[0][0], plain).decode("ascii")
    if len(escaped) <= _LONGEST:
        return escaped
    end = _CUT + hashlib.sha256(plain).hexdigest()[:32]
    return escaped[: _LONGEST - len(end)] + end


def name_of(file: str) -> str:
    """The name, without its case, that a file name was made of; of a very long one its beginning.

    >>> name_of("a~2fb")
    'a/b'
    """
    beginning, cut, _ = file.partition(_CUT)
    plain = unquote_to_bytes(beginning.replace("~", "%")).decode("utf-8", "replace")
    return plain + "..." if cut else plain


def check_name(name: str, span: Span | None = None) -> None:
    """Refuses the only name that has no file name: it would mean the folder of all others."""
    if not name:
        raise fail(Code.INVALID_NAME, "a name cannot be empty", span)
