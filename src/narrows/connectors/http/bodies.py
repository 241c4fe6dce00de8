"""Bodies of requests: the payloads that are in them, by what the request says that it is.

    application/x-ndjson, text/csv    a payload a line, but for blank ones
    application/json                  a payload; of a list, a payload for each element
    all else, and nothing             a payload, as it is

Whether a payload can be decoded is asked when it is read, by whoever reads it.
"""

from __future__ import annotations

import zlib

from narrows.connectors.inbox import Delivery, NotTakenError
from narrows.errors import Code
from narrows.formats.decoder import UnfinishedError
from narrows.formats.json.documents import find_documents

_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "text/csv")
_GZIP = 16 + zlib.MAX_WBITS


def payloads_of(delivery: Delivery, largest: int) -> list[bytes]:
    body = _unpacked(delivery, largest)
    kind = (delivery.header("content-type") or "").partition(";")[0].strip().lower()
    if kind in _LINES:
        lines = (line.removesuffix(b"\r") for line in body.split(b"\n"))
        return [line for line in lines if line.strip()]
    if kind == "application/json" or kind.endswith("+json"):
        return _documents(body)
    return [body]


def _documents(body: bytes) -> list[bytes]:
    try:
        found = [one for documents in find_documents(iter([body])) for one in documents.payloads]
    except UnfinishedError as error:
        raise NotTakenError(Code.INVALID_REQUEST, f"the body is no JSON: {error}") from None
    return found


def _unpacked(delivery: Delivery, largest: int) -> bytes:
    encoding = (delivery.header("content-encoding") or "identity").strip().lower()
    body = delivery.body
    if encoding in ("gzip", "x-gzip"):
        body = _gunzipped(body, largest)
    elif encoding != "identity":
        message = f"a body that is encoded as `{encoding[:40]}` cannot be read"
        raise NotTakenError(Code.INVALID_REQUEST, message, "send it as it is, or as gzip")
    if len(body) > largest:
        raise _too_large(largest)
    return body


def _gunzipped(packed: bytes, largest: int) -> bytes:
    """All members of it, one after the other; no more is unpacked than may be there."""
    parts: list[bytes] = []
    room = largest + 1
    while packed and room > 0:
        unpacker = zlib.decompressobj(_GZIP)
        try:
            part = unpacker.decompress(packed, room)
        except zlib.error as error:
            message = f"the body cannot be unpacked: {error}"
            raise NotTakenError(Code.INVALID_REQUEST, message) from None
        room -= len(part)
        parts.append(part)
        if not unpacker.eof:
            if room > 0:
                raise NotTakenError(Code.INVALID_REQUEST, "the body ends too early to be unpacked")
            break
        packed = unpacker.unused_data
    return b"".join(parts)


def _too_large(largest: int) -> NotTakenError:
    message = f"a request to this stream has at most {largest} bytes (`max_request_bytes`)"
    return NotTakenError(Code.TOO_LARGE, message, "send it in parts")
