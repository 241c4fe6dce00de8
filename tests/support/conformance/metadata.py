"""The laws for metadata columns: what comes with a payload, whoever asks for how much of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import Any

import pyarrow as pa

from narrows.connectors.base import Decoding, Part, find_connector
from narrows.demand import ALL, NOTHING, Demand, fields
from narrows.formats.base import find_format
from narrows.worker.read import kept_decoder
from support.conformance.source_case import DECLARED, Reading, SourceCase, document, metadata_of

BAD = b'{"n": 1, "s'


class MetadataLaws:
    """For sources of payloads that have metadata columns."""

    def test_a_reader_makes_what_is_wanted_of_each_payload(self, case: SourceCase) -> None:
        reading = _mixed(case)
        for names in _subsets(metadata_of(case).names):
            for part in _parts(reading, names):
                assert len(part.metadata) == len(names)
                for number, found in enumerate(_each(part, names)):
                    assert part.payloads is not None
                    expected = case.metadata_at(part.payloads.position(number))
                    assert found == {name: expected[name] for name in names}

    def test_rows_come_with_what_belongs_to_their_payloads(self, case: SourceCase) -> None:
        """Those of bad payloads are left out with them."""
        reading = _mixed(case)
        expected = {}
        for part in _parts(reading, ()):
            assert part.payloads is not None
            for number in range(_count(part)):
                payload = part.payloads.payload(number)
                if payload != BAD:
                    place = part.payloads.position(number)
                    expected[json.loads(payload)["n"]] = case.metadata_at(place)
        rows = reading.all_rows()
        assert [row["n"] for row in rows] == list(range(8))
        made = metadata_of(case).names
        assert {row["n"]: {name: row[name] for name in made} for row in rows} == expected

    def test_how_much_is_wanted_changes_nothing_else(self, case: SourceCase) -> None:
        whole = _mixed(case)
        rows, letters = whole.all_rows(), whole.letters
        assert len(letters) == 2
        for place, names in enumerate(_subsets(metadata_of(case).names)):
            for payload in (NOTHING, fields({"n": ALL}), DECLARED):
                demand = _demand(payload, names)
                some = Reading(case, f"{place} {payload}", demand=demand)
                some.drain()
                wanted = [str(column.path[0]) for column in some.spec.projection.columns]
                assert some.all_rows() == [{name: row[name] for name in wanted} for row in rows]
                assert some.counts.bad == 2
        assert whole.letters == letters


def _mixed(case: SourceCase) -> Reading:
    """Good payloads and bad ones, all taken; whoever reads it wants everything."""
    case.put([document(0), BAD, document(1)])
    case.put([BAD, document(2)])
    case.put([document(n) for n in range(3, 8)])
    reading = Reading(case, demand=_demand(DECLARED, metadata_of(case).names))
    reading.drain()
    return reading


def _subsets(names: list[str]) -> Iterator[tuple[str, ...]]:
    """None, each, and all: in the order in which they are declared, as readers are told them."""
    sizes = {0, 1, len(names)}
    return (chosen for size in sorted(sizes) for chosen in combinations(names, size))


def _demand(payload: Demand, names: Iterable[str]) -> Demand:
    return payload | fields(dict.fromkeys(names, ALL))


def _parts(reading: Reading, names: tuple[str, ...]) -> Iterator[Part]:
    """What the connector's own reader gives, when these metadata columns are wanted."""
    spec = reading.spec
    connector, form = find_connector(spec.connector), find_format(spec.format)
    decoding = Decoding(
        format=form,
        decoder=lambda: kept_decoder(spec),
        container=lambda: form.reader(spec.options),
        projection=spec.projection.payload,
        metadata=names,
    )
    reader = connector.reader(spec.declared, decoding)
    for _, entry in reading.numbered():
        for share in reading.source.split(entry, 2):
            for read in share.ranges:
                yield from reader.parts(read)


def _count(part: Part) -> int:
    return int(part.decoded.batch.num_rows) + len(part.decoded.bad)


def _each(part: Part, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The metadata of each payload."""
    count = _count(part)
    values = [
        [column.as_py()] * count if isinstance(column, pa.Scalar) else column.to_pylist()
        for column in part.metadata
    ]
    assert all(len(column) == count for column in values)
    return (dict(zip(names, found, strict=True)) for found in zip(*values, strict=True))
