"""What was counted, every few seconds of the last half hour: the page's plots begin with it."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable

from narrows.catalog.objects import Pipeline, Source
from narrows.service.core import Service
from narrows.service.demands import leaves_decoded
from narrows.service.models import Counts, PipelineStats, Sample
from narrows.service.views import counts_view, decoded_now, shared_of, stats_view
from narrows.sql.parser.statements import ObjectKind

LOG = logging.getLogger("narrows.service")
_EVERY = 5.0
_KEPT = 360
_Key = tuple[ObjectKind, str]


class History:
    def __init__(self, service: Service) -> None:
        self._service = service
        self._samples: dict[_Key, deque[Sample]] = {}
        self._lock = threading.Lock()

    def watch(self) -> None:
        def look() -> None:
            while not self._service.closing.wait(_EVERY):
                try:
                    self.look()
                except Exception as error:
                    LOG.warning("nothing was counted for the page: %s", error)

        threading.Thread(target=look, name="narrows-history", daemon=True).start()

    def of(self, kind: ObjectKind, name: str) -> list[Sample]:
        with self._lock:
            return list(self._samples.get((kind, name), ()))

    def look(self) -> None:
        """One more sample of everything that runs or has run; what is dropped is forgotten."""
        stats = {
            pipeline.name: stats_view(self._service, run)
            for pipeline in self._service.catalog.pipelines
            if (run := self._service.pipelines.run_of(pipeline.name)) is not None
        }
        found: dict[_Key, Sample] = {
            (ObjectKind.PIPELINE, name): pipeline_sample(each) for name, each in stats.items()
        }
        for source in self._service.catalog.of_kind(ObjectKind.STREAM).values():
            assert isinstance(source, Source)
            if source.shared or any(source.name in each.read for each in stats.values()):
                found[ObjectKind.STREAM, source.name] = self._of_stream(source, stats.values())
        with self._lock:
            self._samples = {
                key: self._samples.get(key, deque(maxlen=_KEPT))
                for key in {*found, *filter(self._is_declared, self._samples)}
            }
            for key, sample in found.items():
                self._samples[key].append(sample)

    def _of_stream(self, source: Source, stats: Iterable[PipelineStats]) -> Sample:
        if source.shared:
            told = shared_of(self._service, source).counts
            names = {"payloads": "payloads", "payload_bytes": "payload_bytes", "bad": "bad"}
            renamed = {**names, "mistyped": "mistyped", "arrow_bytes": "segment_bytes"}
            counted = {ours: int(told.get(theirs, 0)) for ours, theirs in renamed.items()}
            rows = counted["payloads"] - counted["bad"]
            read = [counts_view({**counted, "rows_decoded": rows, "rows_shipped": rows})]
        else:
            read = [each.read[source.name] for each in stats if source.name in each.read]
        decoded = leaves_decoded(source, decoded_now(self._service, source))
        return _sample(read, leaves_decoded=decoded)

    def _is_declared(self, key: _Key) -> bool:
        found = self._service.catalog.of_kind(key[0]).get(key[1].casefold())
        return isinstance(found, Source | Pipeline)


def pipeline_sample(stats: PipelineStats) -> Sample:
    lag: Counter[str] = Counter()
    for by_unit in stats.lag.values():
        lag.update(by_unit)
    for shared in stats.shared.values():
        lag.update({"entries": shared.lag})
    return _sample(stats.read.values(), dict(lag), stats.batch_seconds)


def _sample(
    read: Iterable[Counts],
    lag: dict[str, int] | None = None,
    batch_seconds: float | None = None,
    leaves_decoded: int | None = None,
) -> Sample:
    counts = list(read)
    return Sample(
        time=time.time(),
        payloads=sum(each.payloads for each in counts),
        rows=sum(each.rows_shipped for each in counts),
        bytes_in=sum(each.payload_bytes for each in counts),
        bytes_saved=sum(each.saved_bytes for each in counts),
        bad=sum(each.bad for each in counts),
        lag=lag or {},
        batch_seconds=batch_seconds,
        leaves_decoded=leaves_decoded,
    )
