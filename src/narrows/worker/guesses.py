"""What payloads that could not be read look like: why a whole source of them is bad, mostly."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

_SAMPLE = 50

_PIECE = re.compile(r'\s*(?:[\[{]|[\]}],?|"(?:\\.|[^"\\])*"\s*:.*|[^{}]*,)\s*', re.DOTALL)
"""A line of a document that stands on several: a bracket, or a key with what follows."""
_GIVEN = {
    ",": "",
    ";": ", delimiter = ';'",
    "\t": ", delimiter = '\\t'",
    "|": ", delimiter = '|'",
}
"""What may stand between values of CSV, and how that is declared."""
Item = TypeVar("Item")
_BRACKET = re.compile(r"\s*[\[\]{}],?\s*")


def sample_of(folder: Path) -> list[bytes]:
    """Some of the dead letters' payloads, of the range that was read last."""
    files = folder.glob("[!.]*.ndjson") if folder.is_dir() else ()
    newest = max(files, key=lambda path: path.stat().st_mtime_ns, default=None)
    if newest is None:
        return []
    with newest.open(encoding="utf-8") as lines:
        letters = [json.loads(line) for line in islice(lines, _SAMPLE)]
    return [_payload(letter) for letter in letters]


def guess(payloads: Sequence[bytes], form: str) -> str | None:
    """What they seem to be, and what to do about it; None where that is not plain."""
    if not payloads:
        return None
    if _most(
        payloads, lambda payload: b"\0" in payload or payload[:2] in (b"\xff\xfe", b"\xfe\xff")
    ):
        return "this looks like UTF-16: convert it, `iconv -f UTF-16 -t UTF-8`"
    if form != "json":
        return None
    texts = [payload.decode("utf-8", "replace") for payload in payloads]
    if any(map(_BRACKET.fullmatch, texts)) and _most(texts, _PIECE.fullmatch):
        return (
            "this looks like JSON documents over several lines: declare it with"
            " `multiline = true`, or write one a line, `jq -c . FILE`"
        )
    for delimiter in _GIVEN:
        counts = {text.count(delimiter) for text in texts}
        if len(counts) == 1 and counts != {0} and not any("{" in text for text in texts):
            given = (
                "" if delimiter == "," else f", delimiter = '{_ESCAPED.get(delimiter, delimiter)}'"
            )
            return f"this looks like CSV: declare it with `format = 'csv'{given}`"
    return None


_ESCAPED = {"\t": "\\t"}


def _most(items: Sequence[Any], test: Any) -> bool:
    return sum(bool(test(item)) for item in items) * 2 > len(items)


def _payload(letter: dict[str, Any]) -> bytes:
    if "payload_base64" in letter:
        return base64.b64decode(letter["payload_base64"])
    return str(letter.get("payload", "")).encode("utf-8", "surrogatepass")
