"""What is known, in the text format that Prometheus reads.

    narrows_payloads_total{pipeline="p",stream="s"} 1200

Names say what is counted and in which unit; `docs/service.md` has the list.
"""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from narrows import __version__
from narrows.catalog.objects import Pipeline, Source
from narrows.schema import count_leaves
from narrows.service.core import Service
from narrows.service.demands import leaves_decoded
from narrows.service.queries import QueryState
from narrows.service.views import counts_view, pipeline_view, shared_of
from narrows.sql.parser.statements import ObjectKind
from narrows.sql.scope import Name

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_STATES = ("starting", "running", "stopped", "failed", "done")
_READ = {
    "payloads": ("narrows_payloads_total", "payloads read"),
    "rows_shipped": ("narrows_rows_total", "rows that passed the reader's filters"),
    "payload_bytes": ("narrows_bytes_in_total", "bytes of payloads read"),
    "arrow_bytes": ("narrows_bytes_decoded_total", "bytes of columns made of them"),
    "saved_bytes": ("narrows_bytes_saved_total", "bytes read and neither decoded nor shipped"),
    "bad": ("narrows_bad_payloads_total", "payloads that could not be read"),
    "mistyped": ("narrows_mistyped_values_total", "values that were not of their type"),
}
_SHARED = {
    "payloads": "narrows_shared_payloads_total",
    "payload_bytes": "narrows_shared_bytes_in_total",
    "segment_bytes": "narrows_shared_bytes_decoded_total",
    "bad": "narrows_shared_bad_payloads_total",
    "mistyped": "narrows_shared_mistyped_values_total",
}


@dataclass
class Exposition:
    """Samples, gathered by the metric they are of."""

    metrics: dict[str, tuple[str, str, list[str]]] = field(default_factory=dict)

    def add(self, name: str, kind: str, text: str, value: float, /, **labels: str) -> None:
        self.sample(name, kind, text, name, value, labels)

    def sample(
        self,
        metric: str,
        kind: str,
        text: str,
        name: str,
        value: float,
        labels: Mapping[str, str],
    ) -> None:
        inside = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        line = f"{name}{{{inside}}} {value:g}" if inside else f"{name} {value:g}"
        if isinstance(value, int):
            line = f"{line.rpartition(' ')[0]} {value}"
        self.metrics.setdefault(metric, (kind, text, []))[2].append(line)

    def text(self) -> str:
        return "".join(
            f"# HELP {name} {text}\n# TYPE {name} {kind}\n" + "".join(f"{s}\n" for s in samples)
            for name, (kind, text, samples) in self.metrics.items()
        )


def metrics_text(service: Service) -> str:
    out = Exposition()
    _process(out, service)
    for pipeline in service.catalog.pipelines:
        _pipeline(out, service, pipeline)
    for source in service.catalog.sources:
        if source.shared:
            _shared(out, service, source)
    return out.text()


def _pipeline(out: Exposition, service: Service, pipeline: Pipeline) -> None:
    name = pipeline.name
    view, run = pipeline_view(service, pipeline), service.pipelines.run_of(name)
    for state in _STATES:
        is_so = int(view.actual == state)
        out.add("narrows_pipeline_state", "gauge", "1: it is so", is_so, pipeline=name, state=state)
    wanted = int(view.desired == "running")
    out.add("narrows_pipeline_desired", "gauge", "1: it shall run", wanted, pipeline=name)
    for sink in pipeline.sinks:
        connector = service.catalog.sink(sink).connector
        out.add(
            "narrows_pipeline_sink_info",
            "gauge",
            "where its rows go",
            1,
            pipeline=name,
            sink=sink,
            connector=connector,
        )
    for stream, demand in service.declarations.demands.of(pipeline).items():
        source = service.catalog.find_source(Name(stream, None))
        decoded, leaves = leaves_decoded(source, demand), count_leaves(source.schema)
        labels = {"pipeline": name, "stream": stream}
        out.add("narrows_leaves_decoded", "gauge", "leaves it needs", decoded, **labels)
        out.add("narrows_leaves", "gauge", "leaves of the schema", leaves, **labels)
    if run is None:
        return
    restarts = run.attempts.restarts
    out.add("narrows_restarts_total", "counter", "restarts after failures", restarts, pipeline=name)
    late = run.late_rows
    out.add("narrows_late_rows_total", "counter", "rows too late", late, pipeline=name)
    for stream, counts in run.counts().items():
        counted = counts_view(vars(counts)).model_dump()
        for key, (metric, text) in _READ.items():
            out.add(metric, "counter", text, counted[key], pipeline=name, stream=stream)
    refused = run.refused()
    for sink in pipeline.sinks:
        labels = {"pipeline": name, "sink": sink}
        text, rows = "rows given to a sink since the pipeline was started", run.written.rows
        out.add("narrows_sink_rows_total", "counter", text, rows, **labels)
        text, count = "rows that a sink could not take", refused.get(sink, 0)
        out.add("narrows_refused_rows_total", "counter", text, count, **labels)
    for stream, lag in run.lag().items():
        for unit, behind in lag.items():
            text = "what is there and not read"
            out.add("narrows_lag", "gauge", text, behind, pipeline=name, stream=stream, unit=unit)
    for stream, found in run.shared().items():
        text, lag_labels = "what is there and not read", {"stream": stream, "unit": "entries"}
        out.add("narrows_lag", "gauge", text, found["lag"], pipeline=name, **lag_labels)
    _durations(out, service, name)


def _durations(out: Exposition, service: Service, pipeline: str) -> None:
    times = service.batch_times.by_pipeline.get(pipeline)
    if times is None:
        return
    metric = "narrows_batch_duration_seconds"
    told = metric, "histogram", "how long micro-batches took"
    labels = {"pipeline": pipeline}
    count = 0
    for bound, count in times.buckets():
        out.sample(*told, f"{metric}_bucket", count, {**labels, "le": bound})
    out.sample(*told, f"{metric}_sum", times.total, labels)
    out.sample(*told, f"{metric}_count", count, labels)


def _shared(out: Exposition, service: Service, source: Source) -> None:
    info, labels = shared_of(service, source), {"stream": source.name}
    width = leaves_decoded(source, info.demand)
    version, users = info.version, len(info.consumers)
    out.add("narrows_shared_union_leaves", "gauge", "leaves decoded for all", width, **labels)
    out.add("narrows_shared_union_version", "gauge", "grows with each change", version, **labels)
    out.add("narrows_shared_consumers", "gauge", "pipelines on the stream", users, **labels)
    out.add("narrows_shared_retained_entries", "gauge", "entries kept", info.retained, **labels)
    counts = info.counts
    for key, metric in _SHARED.items():
        text = f"{key.replace('_', ' ')} of the ingest"
        out.add(metric, "counter", text, int(counts.get(key, 0)), **labels)
    saved = max(0, int(counts.get("payload_bytes", 0)) - int(counts.get("segment_bytes", 0)))
    text = "bytes read and not decoded"
    out.add("narrows_shared_bytes_saved_total", "counter", text, saved, **labels)


def _process(out: Exposition, service: Service) -> None:
    out.add("narrows_build_info", "gauge", "the version", 1, version=__version__)
    is_up = int(service.spark.state == "up")
    out.add("narrows_spark_up", "gauge", "1: Spark is up", is_up)
    for kind in ObjectKind:
        count, text = len(service.catalog.of_kind(kind)), "what is declared"
        out.add("narrows_objects", "gauge", text, count, kind=kind.value)
    states = [query.state for query in service.queries.known()]
    for state in get_args(QueryState):
        text = "bounded queries that have not ended"
        out.add("narrows_queries", "gauge", text, states.count(state), state=state)
    threads = threading.active_count()
    out.add("narrows_threads", "gauge", "threads of the service", threads)
    for process, size in _memory():
        text = "memory in use, of the service and of Spark's JVM and workers below it"
        out.add("narrows_resident_memory_bytes", "gauge", text, size, process=process)


def _memory() -> Iterator[tuple[str, int]]:
    """Resident memory of this process, and of all below it together."""
    sizes, parents = {}, {}
    page = resource.getpagesize()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (folder / "stat").read_text("ascii", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents[int(folder.name)] = int(after_name[1])
        sizes[int(folder.name)] = int(after_name[21]) * page
    ours = os.getpid()
    yield "service", sizes.get(ours, 0)
    below = 0
    for process in sizes:
        above = parents.get(process)
        while above not in (None, 0, ours):
            above = parents.get(above)
        if above == ours:
            below += sizes[process]
    yield "spark", below


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
