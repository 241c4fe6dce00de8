"""A pipeline and what runs it, a streaming query or a loop: from its plan to rows in its sinks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.streaming.readwriter import DataStreamWriter

from narrows.catalog.objects import Source
from narrows.connectors.base import find_connector
from narrows.connectors.opening import open_source
from narrows.connectors.target import SinkTarget, WriteSpec
from narrows.errors import Code, fail
from narrows.explain.plan import Plan
from narrows.files.names import file_name
from narrows.logical.nodes import DataSink, DecodedSource
from narrows.logical.walk import topological
from narrows.physical.execution import ExecutionMode, rows_of
from narrows.physical.nodes import PhysicalBatch, PhysicalReader
from narrows.plugins.options import parse_duration
from narrows.spark.compile.closed_windows import Streamed, streamed
from narrows.spark.compile.context import Context, PlaceReads
from narrows.spark.entries.entry_loop import (
    EntryLoop,
    EntryQuery,
    EntrySteps,
    WritingSteps,
)
from narrows.spark.entries.entry_plan import EntryPlan
from narrows.spark.entries.entry_tasks import (
    EntryTasks,
    LastingEntryTasks,
    WritingJobs,
    copying,
)
from narrows.spark.entries.intake import Intake, Taking
from narrows.spark.entries.joint_intake import JOINT_LOG, JointIntake
from narrows.spark.keeping.closing import ClosingRun, KeepingSteps
from narrows.spark.keeping.endless_steps import endless_steps
from narrows.spark.keeping.memory_steps import ReadHere, memory_steps, memory_time
from narrows.spark.keeping.window_plan import window_steps
from narrows.spark.read.reader import read_spec
from narrows.spark.running.pauses import Looks, Pauses, Ticks
from narrows.spark.running.running import Phase, Running
from narrows.spark.streaming.checkpoint import check_checkpoint, relocate
from narrows.spark.streaming.feed import LOOKS_AGAIN, FedQuery, Feed
from narrows.spark.streaming.handover import begin_position, end_position
from narrows.spark.streaming.query_settings import query_settings
from narrows.spark.windows.clock import say_end
from narrows.spark.windows.closing import ClosedMark, closing_run, run_time, streams_of
from narrows.spark.windows.event_time import RunTime
from narrows.spark.windows.join_lag import join_lag
from narrows.spark.windows.windows import windows_of
from narrows.spark.write.sink import RowsWritten, publish_written, written_by_tasks
from narrows.spark.write.sink_frame import copied_from, parts_of, sink_frame
from narrows.state.entry_position import first_entry
from narrows.worker.lasting import EntryWork
from narrows.worker.read_spec import ReadSpec
from narrows.worker.remembered.keeper import Time
from narrows.worker.watermark import last_commit
from narrows.worker.write import sweep

_ENTRY_BY_ENTRY = (
    ExecutionMode.COPY,
    ExecutionMode.CONTINUOUS,
    ExecutionMode.JOBS,
    ExecutionMode.KEYED,
    ExecutionMode.WINDOWS,
    ExecutionMode.GROUPS,
)
"""Without a streaming query."""
_KEEPING = (ExecutionMode.WINDOWS, ExecutionMode.GROUPS, ExecutionMode.KEYED)
"""Whose tasks keep something between entries."""
_ROWS_KEPT_AS = "json"
"""The format in which the state folder keeps rows of sinks that take rows, until they are shown."""


@dataclass(frozen=True)
class Pace:
    """How long a query runs, and how often it looks for something to read."""

    once: bool
    """Only what is there now."""
    trigger: str = ""
    closes: bool = False
    """When the input has ended, all windows that are open close."""


@dataclass(frozen=True)
class PipelineQuery:
    """A pipeline that is to run: as a streaming query, if it needs one."""

    context: Context
    name: str
    sinks: Sequence[str]
    plan: Plan
    pace: Pace
    place_shared: PlaceReads | None = None
    """Where what is read of shared streams is kept; None where the plan reads none."""
    written: RowsWritten = field(default_factory=RowsWritten)
    tasks: int = 1
    """How many it has, where they last."""

    @property
    def checkpoint(self) -> Path:
        return self.context.state.checkpoint(self.name)

    @cached_property
    def write(self) -> WriteSpec:
        """Where its rows go, and how they are encoded."""
        nodes = [n for n in topological(self.plan.physical) if isinstance(n, DataSink)]
        by_name = {node.sink.name: self._target(node) for node in nodes}
        # The numbers of batches are those of entries, as long as there is one source; or Spark's,
        # which begin anew where it comes after none.
        before = 0 if self.mode in _ENTRY_BY_ENTRY else self._first_entry
        first = self.context.state.first_batch(self.name) + before
        return WriteSpec(tuple(by_name[name] for name in self.sinks), first)

    @property
    def mode(self) -> ExecutionMode:
        assert self.plan.execution is not None, "it has sinks"
        return self.plan.execution.mode

    def counted_in(self) -> list[tuple[str, Path]]:
        """Its sources, and the folders where their readers leave what they count."""
        state, found = self.context.state, {}
        for node in topological(self.plan.physical):
            if isinstance(node, DecodedSource) and not node.source.shared:
                number = self._numbers[node.relation.id] if node.source.is_fed else 0
                name = node.source.name
                found[state.statistics(self.name, name, number)] = name
        return [(name, folder) for folder, name in found.items()]

    # --- starting ---------------------------------------------------------------------------------

    def reserve(self) -> None:
        """What its sources have now is kept until it has read it."""
        for source, read in self._fed:
            if not source.shared:  # of those, what was decoded for it is kept
                open_source(read.connector, read.declared).reserve()

    def phases(self) -> list[Phase]:
        """What runs one after the other; which way that is, is in its plan."""
        if self.mode in (ExecutionMode.JOBS, ExecutionMode.KEYED):
            self._entry_plan.check()  # what Spark will not take is said before
        if self.mode in _KEEPING:
            first = self._keeping_steps()
            ready = [first]

            def keep(previous: Running | None) -> Running:
                return self.start_keeping(ready.pop() if ready else self._keeping_steps())

            def close(ended: Running | None) -> Running | None:
                """What the last entry has not closed."""
                return ClosingRun(self._keeping_steps()) if first.has_open else None

            return [keep, close] if self.pace.closes else [keep]
        if self.mode in _ENTRY_BY_ENTRY:
            return [lambda previous: self.start_writing()]
        stream = self.compile()
        return [lambda previous: self.start(stream), *self.closing_phases()]

    def compile(self) -> Streamed:
        """What Spark is to run; nothing runs yet, so what it will not take is said before."""
        stream = self._streamed()
        if not stream.frame.isStreaming:
            raise fail(
                Code.NOT_SUPPORTED,
                f"pipeline `{self.name}` reads tables only, so it would never see new rows",
                hint="use a query: `session.query(...)` or `narrows query`",
            )
        return stream

    def start(self, stream: Streamed) -> FedQuery:
        feeds = [self._feed(read) for _, read in self._fed]
        return self._start(stream, feeds, self.pace)

    def _keeping_steps(self) -> KeepingSteps:
        match self.mode:
            case ExecutionMode.WINDOWS:
                return window_steps(
                    self.context, self.name, self.plan, self._place, self.write, self.written
                )
            case ExecutionMode.GROUPS:
                return endless_steps(self.context, self.name, self.plan, self._place, self.write)
        return memory_steps(self._entry_plan, self._intake, self._time, self.written)

    def start_keeping(self, steps: KeepingSteps) -> EntryQuery:
        """Starts a pipeline whose tasks keep something between entries."""
        if steps.was_closing:
            steps.close()
        sweep(self.write)
        return self._start_entries(steps.intake, steps, ends=self.pace.closes)

    def start_writing(self) -> EntryQuery:
        """Starts a pipeline that keeps nothing."""
        intake, tasks = self._entry_tasks()
        return self._start_entries(intake, WritingSteps(self.write, tasks))

    def _start_entries(
        self, intake: Taking, steps: EntrySteps, *, ends: bool = False
    ) -> EntryQuery:
        try:
            position = begin_position(intake, self.checkpoint)
            loop = EntryLoop(intake, position, self.written, steps, ends=ends)
            return EntryQuery(self.name, loop, None if self.pace.once else self._looks)
        except BaseException:
            steps.stop()
            raise

    def _entry_tasks(self) -> tuple[Taking, EntryTasks]:
        """What takes what it reads, and who reads it."""
        spark = self.context.spark
        if self.mode is ExecutionMode.JOBS:
            made, intake = self._entry_plan, self._intake
            most = self.context.parallelism
            jobs = WritingJobs(spark, made.make, most, made.planned_for, intake.read_with)
            return intake, jobs
        plain = copied_from(self.plan)
        assert plain is not None, "the plan says so"
        read = self._place(plain.node, plain.spec)
        if self.mode is ExecutionMode.COPY:
            work = EntryWork(read, self.write)
            return Intake(read), WritingJobs(spark, copying(work), read.partitions)
        read = replace(read, partitions=self.tasks)
        work = EntryWork(read, self.write)
        return Intake(read), LastingEntryTasks(spark, self.name, self.tasks, work)

    @cached_property
    def _entry_plan(self) -> EntryPlan:
        remembered = self.context.state.remembered(self.name)
        return EntryPlan(self.context, self.plan, self._place, self.write, remembered)

    def closing_phases(self) -> list[Phase]:
        """What a bounded run does at the end of its input; nothing when it has no windows."""
        root = rows_of(self.plan.physical)
        if not self.pace.closes or not windows_of(root):
            return []
        clock = self.context.state.clock(self.name)
        mark = ClosedMark(self.context.state.closed_mark(self.name), self.checkpoint)

        def close(ended: Running | None) -> Running | None:
            assert ended is not None, "it comes last"
            nothing_came = not any(report["numInputRows"] for report in ended.recentProgress)
            closed = mark.holds or last_commit(self.checkpoint) is None
            if closed if nothing_came else self._knows_its_end:
                mark.keep()
                return None
            lag = join_lag(root, self.context.spark) if self._joins_below_windows else 0
            newest = self.context.state.all_newest(self.name)
            last = closing_run(root, self.checkpoint, clock, newest, lag)
            assert last.closes is not None
            mark.set(last.closes)
            say_end(clock, last.closes)
            return self._start(self._streamed(last), (), Pace(once=True))

        return [close]

    # --- how --------------------------------------------------------------------------------------

    def _streamed(self, closing: RunTime | None = None) -> Streamed:
        context = self.context
        return streamed(
            rows_of(self.plan.physical),
            context.spark,
            context.opener(self._place, streaming=True),
            context.opener(self._place, streaming=False),
            closing or run_time(self.checkpoint, context.state.clock(self.name)),
        )

    def _place(self, node: DecodedSource, spec: ReadSpec) -> ReadSpec:
        number = self._numbers[node.relation.id]
        if self._joins_below_windows or (self._time is not None and not node.source.bounded):
            spec = replace(spec, newest=str(self._newest(node).absolute()))
        if node.source.is_fed and len(self._streams) > 1:
            spec = replace(spec, place=self._streams.index(node.relation.id))
        if node.source.shared and self.place_shared is not None:
            return self.place_shared(node, spec)
        return self.context.placed_for(node, spec, self.name, number)

    def _newest(self, node: DecodedSource) -> Path:
        number = self._numbers[node.relation.id]
        return self.context.state.newest(self.name, node.source.name, number)

    @cached_property
    def _time(self) -> Time | None:
        def streams() -> list[ReadHere]:
            nodes = topological(self.plan.physical)
            read = [n for n in nodes if isinstance(n, DecodedSource) and not n.source.bounded]
            return [ReadHere(node.source, self._newest(node)) for node in read]

        return memory_time(self.plan, streams)

    @cached_property
    def _streams(self) -> list[int]:
        """The relations of what it reads entry by entry."""
        return [node.relation.id for node in self._fed_nodes]

    @cached_property
    def _fed_nodes(self) -> list[PhysicalReader]:
        """Those that read them; of several that read one relation, with other tests, the first."""
        nodes = [n for n in topological(self.plan.physical) if isinstance(n, PhysicalReader)]
        fed = {node.relation.id: node for node in reversed(nodes) if node.source.is_fed}
        return [node for node in nodes if fed.get(node.relation.id) is node]

    @property
    def _intake(self) -> Taking:
        """What takes the entries of all that it reads."""
        reads = [read for _, read in self._fed]
        if len(reads) == 1:
            return Intake(reads[0])
        return JointIntake(reads, self.context.state.entry_logs(self.name) / JOINT_LOG)

    @cached_property
    def _raised(self) -> list[BaseException]:
        """What our part of the last batch raised."""
        return []

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """For each place where a source is read, how often the source has been read before it."""
        seen: dict[str, int] = {}
        numbers = {}
        for node in topological(self.plan.physical):
            if isinstance(node, DecodedSource) and node.relation.id not in numbers:
                name = node.source.name.casefold()
                numbers[node.relation.id] = seen.setdefault(name, 0)
                seen[name] += 1
        return numbers

    def _feed(self, read: ReadSpec) -> Feed:
        end_position(read, self.checkpoint)
        check_checkpoint(self.checkpoint)
        return Feed(read, self.checkpoint)

    @property
    def _first_entry(self) -> int:
        """The entry that Spark's first batch reads, if it has read one before it had batches."""
        logs = [read.entry_log for _, read in self._fed]
        return max((first_entry(log) for log in logs if log is not None), default=0)

    @cached_property
    def _fed(self) -> list[tuple[Source, ReadSpec]]:
        """What it reads entry by entry."""
        return [(node.source, self._place(node, read_spec(node))) for node in self._fed_nodes]

    @property
    def _knows_its_end(self) -> bool:
        """Do its readers say the end of a bounded run, and so close its windows?"""
        streams = streams_of(self.plan.physical)
        return len(streams) == 1 and streams[0].is_fed

    @cached_property
    def _joins_below_windows(self) -> bool:
        """Does it cut windows, and read several streams?"""
        root = rows_of(self.plan.physical)
        return len(streams_of(root)) > 1 and bool(windows_of(root))

    def _start(self, stream: Streamed, feeds: Sequence[Feed], pace: Pace) -> FedQuery:
        finish = stream.finish
        if finish is None:
            told = written_by_tasks(sink_frame(self.plan, stream.frame), self.write)
            return self._begin(self._publishing(told, feeds, mode=stream.output_mode), feeds, pace)

        def told_of(closed: DataFrame, number: int) -> DataFrame:
            return written_by_tasks(sink_frame(self.plan, finish(closed)), self.write, number)

        writer = self._publishing(stream.frame, feeds, told_of, stream.output_mode)
        return self._begin(writer, feeds, pace)

    def _publishing(
        self,
        rows: DataFrame,
        feeds: Sequence[Feed],
        told_of: Callable[[DataFrame, int], DataFrame] | None = None,
        mode: str = "append",
    ) -> DataStreamWriter:
        """Publishes what tasks wrote: what the rows tell, or what is made of each batch."""
        sweep(self.write)
        raised = self._raised
        raised.clear()

        def publish(batch: DataFrame, number: int) -> None:
            try:
                for feed in feeds:
                    feed.check(number)
                told = batch if told_of is None else told_of(batch, number)
                self.written.rows += publish_written(told, self.write, number)
            except BaseException as error:
                raised.append(error)
                raise

        return rows.writeStream.foreachBatch(publish).outputMode(mode)

    def _begin(self, writer: DataStreamWriter, feeds: Sequence[Feed], pace: Pace) -> FedQuery:
        checkpoint = str(self.checkpoint.absolute())
        relocate(self.checkpoint, self.context.state.clock(self.name), parts=2)
        writer = writer.queryName(file_name(self.name)).option("checkpointLocation", checkpoint)
        every = self._trigger
        if pace.once:
            writer = writer.trigger(availableNow=True)
            for feed in feeds:
                feed.take_all(ends=pace.closes and self._knows_its_end)
        else:
            # Spark knows fewer words for units than we do.
            writer = writer.trigger(processingTime=f"{every} milliseconds")
        closes_later = pace.closes and not self._knows_its_end
        with query_settings(self.context.spark, self.plan.physical, closes_later=closes_later):
            query = writer.start()
        return FedQuery(query, feeds, every, bounded=pace.once, raised=self._raised)

    def _target(self, node: DataSink) -> SinkTarget:
        sink, state = node.sink, self.context.state
        connector, ours = find_connector(sink.connector), state.rows(sink.name).absolute()
        return SinkTarget(
            pipeline=self.name,
            sink=sink.name,
            connector=sink.connector,
            format=_ROWS_KEPT_AS if sink.takes_rows else sink.format,
            options=(*sink.options.items(), ("timezone", self.context.timezone)),
            parts=parts_of(node),
            place=connector.place(sink.options, str(ours)),
            dead_letters=str(state.dead_letters(sink.name).absolute()),
            folder=str(state.received(sink.connector).absolute()),
            life=state.life(self.name),
            gathers=any(isinstance(n, PhysicalBatch) for n in topological(node)),
        )

    @property
    def _trigger(self) -> int:
        """How often it looks for something to read, in milliseconds; the shortest `batch_duration`
        of the sinks, if one has any: a micro-batch ends every payload."""
        sinks = [n.sink for n in topological(self.plan.physical) if isinstance(n, DataSink)]
        given = [str(d) for sink in sinks if (d := sink.options.get("batch_duration")) is not None]
        return min(parse_duration(text) or 0 for text in given or [self.pace.trigger])

    @property
    def _looks(self) -> Looks:
        """The same for a pipeline that has no query of Spark's."""
        if self.mode is ExecutionMode.CONTINUOUS:
            return Pauses()
        return Ticks(self._trigger / 1_000) if self._trigger else Pauses(LOOKS_AGAIN / 1_000)
