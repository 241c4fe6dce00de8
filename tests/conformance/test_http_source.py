"""Streams that are pushed to obey the laws for sources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from narrows.connectors.base import SourceDeclaration, find_connector
from narrows.connectors.inbox import Delivery
from narrows.connectors.received import segments
from narrows.connectors.received.contents import groups_in
from narrows.plugins.options import OptionValue
from support.conformance.metadata import MetadataLaws
from support.conformance.source_case import Limit, SourceCase
from support.conformance.sources import LossLaws, PayloadLaws, SourceLaws

HEADERS = [("content-type", "application/octet-stream"), ("x-site", "north")]


class HttpCase(SourceCase):
    connector = "http"
    limit = Limit({"max_messages_per_trigger": 2}, 2)
    tight: Mapping[str, OptionValue] | None = {"max_bytes_per_trigger": 1}
    options: Mapping[str, OptionValue] = {"sync_interval": "0 ms"}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        declared = SourceDeclaration("s", "json", self.declared({}), folder=str(self.kept))
        opens = find_connector("http").inbox
        assert opens is not None
        self.inbox = opens(declared)

    def put(self, payloads: Sequence[bytes]) -> None:
        taken = [self.inbox.take(Delivery(payload, HEADERS)) for payload in payloads]
        assert all(each.result(60).payloads == 1 for each in taken)

    def payload_at(self, position: Mapping[str, Any]) -> bytes:
        assert set(position) == {"number"}
        found: bytes = self._row(position)["payload"]
        return found

    def metadata_at(self, position: Mapping[str, Any]) -> dict[str, Any]:
        row = self._row(position)
        assert row["headers"] == [{"key": key, "value": value} for key, value in HEADERS]
        return {"_received_at": row["received_at"], "_headers": row["headers"]}

    def _row(self, position: Mapping[str, Any]) -> dict[str, Any]:
        number = position["number"]
        (group,) = [g for g in groups_in(self.kept / "s") if g.first <= number < g.end]
        batch = segments.read_batch(self.kept / "s", group)
        found: dict[str, Any] = batch.slice(number - group.first, 1).to_pylist()[0]
        return found

    def lose(self) -> int:
        for path in (self.kept / "s").glob("*.received"):
            path.unlink()
        return 1


class TestHttp(SourceLaws, PayloadLaws, LossLaws, MetadataLaws):
    @pytest.fixture
    def case(self, tmp_path: Path) -> Iterator[SourceCase]:
        case = HttpCase(tmp_path)
        yield case
        case.inbox.close()
