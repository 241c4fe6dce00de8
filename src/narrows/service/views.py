"""Catalog objects, plans and runs as answers of the API."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from narrows.catalog.describe import ResultTable
from narrows.catalog.objects import Pipeline, Sink, Source
from narrows.demand import Demand, of_columns
from narrows.demand_text import row_parts
from narrows.explain.json import explain_dict
from narrows.explain.plan import Plan
from narrows.planner.catalog import Answer
from narrows.plugins.options import OptionValue
from narrows.plugins.registry import CONNECTORS
from narrows.schema import count_leaves
from narrows.secrets import Secret
from narrows.service import models
from narrows.service.core import Service
from narrows.service.demands import leaves_decoded, read_info, reads_of, tree, union_of
from narrows.service.queries import Rows
from narrows.shared.info import SharedStreamInfo, shared_stream_info
from narrows.sql.parser.statements import ExplainMode, ObjectKind, Statement

if TYPE_CHECKING:
    from narrows.spark.run.pipeline_run import PipelineRun


# --- statements and plans -------------------------------------------------------------------------


def answer_view(statement: Statement, answer: Answer | Rows) -> models.StatementAnswer:
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(statement).__name__).lower()
    match answer:
        case str():
            return models.StatementAnswer(statement=kind, text=answer)
        case ResultTable(columns=columns, rows=rows):
            return models.StatementAnswer(
                statement=kind,
                columns=[models.ColumnInfo(name=name, type="string") for name in columns],
                rows=[dict(zip(columns, row, strict=True)) for row in rows],
            )
        case Rows():
            view = rows_view(answer)
            return models.StatementAnswer(
                statement=kind, columns=view.columns, rows=view.rows, more=view.more
            )
        case None:
            return models.StatementAnswer(statement=kind)


def rows_view(found: Rows) -> models.QueryAnswer:
    columns = [models.ColumnInfo(name=name, type=dtype) for name, dtype in found.columns]
    return models.QueryAnswer(columns=columns, rows=found.rows, more=found.more)


def explained_view(
    plan: Plan, mode: ExplainMode, milliseconds: float, name: str = "query"
) -> models.Explained:
    return models.Explained(
        text=plan.explain(mode),
        plan=explain_dict(plan, mode),
        mermaid=plan.explain(mode, "mermaid"),
        reads=reads_of(plan, name),
        notices=_notices(plan),
        execution=_execution(plan),
        outputs=[models.ColumnInfo(name=c.name, type=c.dtype.sql()) for c in plan.bound.outputs],
        milliseconds=round(milliseconds, 3),
    )


def _notices(plan: Plan) -> list[models.NoticeInfo]:
    return [models.NoticeInfo(code=n.code, message=n.message, hint=n.hint) for n in plan.notices]


def _execution(plan: Plan) -> models.ExecutionInfo | None:
    how = plan.execution
    return None if how is None else models.ExecutionInfo(mode=how.mode.value, reason=how.reason)


# --- the catalog ----------------------------------------------------------------------------------


def source_view(service: Service, source: Source) -> models.SourceInfo:
    return models.SourceInfo(**_source(service, source))


def source_details(service: Service, source: Source) -> models.SourceDetails:
    needed = service.declarations.demands.on(source)
    shown = tree(source.schema, decoded_now(service, source), needed)
    return models.SourceDetails(**_source(service, source), tree=shown)


def decoded_now(service: Service, source: Source) -> Demand:
    """What is decoded of a source now, by all who read it."""
    if source.shared:
        return shared_of(service, source).demand
    return union_of(service.declarations.demands.on(source), service.pipelines.running())


def _source(service: Service, source: Source) -> dict[str, Any]:
    return {
        "name": source.name,
        "kind": source.kind.value,
        "connector": source.connector,
        "format": source.format,
        "shared": source.shared,
        "options": _options(source.options),
        "columns": [
            models.ColumnInfo(name=f.name, type=source.type_text(f)) for f in source.schema
        ],
        "leaves": count_leaves(source.schema),
        "leaves_decoded": leaves_decoded(source, decoded_now(service, source)),
        "pipelines": [user.name for user in service.catalog.users_of(source)],
        "sql": service.store.statement(source.kind, source.name),
    }


def sink_view(service: Service, sink: Sink) -> models.SinkInfo:
    return models.SinkInfo(
        name=sink.name,
        connector=sink.connector,
        format=sink.format,
        options=_options(sink.options),
        pipelines=[user.name for user in service.catalog.users_of(sink)],
        guarantee=CONNECTORS.find(sink.connector).promises(sink.options),
        sql=service.store.statement(ObjectKind.SINK, sink.name),
    )


def _options(options: Mapping[str, OptionValue]) -> dict[str, models.OptionValue]:
    """Without passwords, should there be one."""
    return {k: str(v) if isinstance(v, Secret) else v for k, v in options.items()}


# --- pipelines ------------------------------------------------------------------------------------


def pipeline_view(
    service: Service, pipeline: Pipeline, *, stats: bool = False
) -> models.PipelineInfo:
    run = service.pipelines.run_of(pipeline.name)
    counted = stats_view(service, run) if stats and run is not None else None
    return models.PipelineInfo(**_pipeline(service, pipeline, run), stats=counted)


def pipeline_details(service: Service, pipeline: Pipeline) -> models.PipelineDetails:
    run = service.pipelines.run_of(pipeline.name)
    plan = service.declarations.plan_pipeline(pipeline)
    return models.PipelineDetails(
        **_pipeline(service, pipeline, run),
        sql=service.store.statement(ObjectKind.PIPELINE, pipeline.name),
        reads=reads_of(plan, pipeline.name),
        notices=_notices(plan),
        execution=_execution(plan),
        stats=None if run is None else stats_view(service, run),
    )


def _pipeline(service: Service, pipeline: Pipeline, run: PipelineRun | None) -> dict[str, Any]:
    problem = service.pipelines.problem_of(pipeline.name)
    desired = service.store.desired.get(pipeline.name.casefold(), "stopped")
    if service.pipelines.is_starting(pipeline.name):
        actual = "starting"
    elif problem is not None:
        actual = "failed"
    else:
        actual = "stopped" if run is None else run.status
    error = None if run is None else run.error or run.problem
    return {
        "name": pipeline.name,
        "sinks": list(pipeline.sinks),
        "sources": sorted(service.declarations.demands.of(pipeline)),
        "query": pipeline.query.sql,
        "desired": desired,
        "actual": actual,
        "error": problem.problems[0].message if problem is not None else error,
        "restarts": 0 if run is None else run.attempts.restarts,
        "seconds": None if run is None else (run.ended or time.monotonic()) - run.started,
    }


def stats_view(service: Service, run: PipelineRun) -> models.PipelineStats:
    wanted = models.SharedRead.model_fields
    return models.PipelineStats(
        read={source: counts_view(vars(counts)) for source, counts in run.counts().items()},
        lag={source: dict(lag) for source, lag in run.lag().items()},
        shared={
            name: models.SharedRead(**{key: found[key] for key in wanted})
            for name, found in run.shared().items()
        },
        late=run.late_rows,
        batch_seconds=service.batch_times.last.get(run.name),
        last_failure=run.attempts.last_failure,
    )


def counts_view(counts: Mapping[str, int]) -> models.Counts:
    saved = max(0, counts["payload_bytes"] - counts["arrow_bytes"])
    return models.Counts(**counts, saved_bytes=saved)


# --- shared streams -------------------------------------------------------------------------------


def shared_of(service: Service, source: Source) -> SharedStreamInfo:
    return shared_stream_info(source, service.state.shared(source.name))


def shared_view(service: Service, source: Source) -> models.SharedInfo:
    return models.SharedInfo(**_shared(shared_of(service, source)))


def shared_details(service: Service, source: Source) -> models.SharedDetails:
    info = shared_of(service, source)
    needed = {consumer.name: consumer.demand for consumer in info.consumers}
    details = read_info(source, info.demand, needed)
    return models.SharedDetails(**_shared(info), tree=details.tree)


def _shared(info: SharedStreamInfo) -> dict[str, Any]:
    schema = info.source.schema
    return {
        "name": info.source.name,
        "version": info.version,
        "leaves_decoded": leaves_decoded(info.source, info.demand),
        "leaves": count_leaves(schema),
        "columns": info.decoding_columns,
        "consumers": [
            models.ConsumerInfo(
                pipeline=consumer.name,
                columns=list(row_parts(of_columns(consumer.demand, schema), schema)),
                leaves=leaves_decoded(info.source, consumer.demand),
                lag=consumer.lag,
            )
            for consumer in info.consumers
        ],
        "retained": info.retained,
        "counts": dict(info.counts),
    }
