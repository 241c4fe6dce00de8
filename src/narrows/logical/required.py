"""Collects what a plan demands of its sources: the one analysis behind every pruning rule.

Demand flows from the top down. The root's columns are wanted whole; each node turns what is wanted
of the columns it makes, and what its own expressions look at, into demands on the columns of its
children. Columns are keyed by `ColumnId` - relation and ordinal in the full schema - so one table
serves the whole plan, and nothing depends on names.

Every node is visited after all of its parents, so a node that two sinks share sees the union of
what they want.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from narrows.demand import ALL, NOTHING, Demand, conform, fields, union_all, whole_row
from narrows.expressions.function import whole
from narrows.expressions.nodes import (
    Call,
    Column,
    ColumnId,
    ElementAccess,
    Expr,
    FieldAccess,
    Lambda,
    Literal,
    Variable,
    columns_of,
)
from narrows.expressions.text import expression_text
from narrows.functions.looks import access
from narrows.logical.nodes import (
    Aggregation,
    DataSink,
    DecodedSource,
    Distinct,
    Filter,
    Generate,
    Join,
    Limit,
    Node,
    Project,
    Sort,
    StatefulFunction,
    Tail,
    Window,
)
from narrows.logical.relational_nodes import (
    Analytic,
    Keep,
    NearestJoin,
    OneRow,
    Pivot,
    Recursion,
    RecursiveRows,
    SetOperation,
    SparkTable,
    Subquery,
    TableFunction,
    Union,
    Values,
)
from narrows.logical.walk import topological
from narrows.notices import Notice
from narrows.schema import Array, Struct, Unknown, is_nested
from narrows.sql.binder.context import SubqueryKind


@dataclass
class Required:
    """What a plan demands of each column, and where it demanded more than it had to."""

    columns: dict[ColumnId, Sequence[Demand]] = field(default_factory=dict)
    """What each use of a column demands of it; `column` has their union."""
    losses: dict[str, Notice] = field(default_factory=dict)
    _rows: dict[int, Demand] = field(default_factory=dict)
    """What `row` answered, by relation: three rules ask for the same."""

    def column(self, column: ColumnId) -> Demand:
        uses = self.columns.get(column, ())
        return uses[0] if len(uses) == 1 else union_all(uses)

    def row(self, source: DecodedSource) -> Demand:
        """The demand on a source's row, as a demand on a struct."""
        relation = source.relation.id
        if relation not in self._rows:
            self._rows[relation] = self._row(source)
        return self._rows[relation]

    def _row(self, source: DecodedSource) -> Demand:
        row = source.source.row
        parts = {}
        for number, column in zip(source.relation.ids, row, strict=True):
            demand = self.column(number)
            if demand is not NOTHING:
                parts[column.name] = conform(demand, column.type)
        return whole_row(fields(parts), row)


_known: WeakKeyDictionary[Node, Required] = WeakKeyDictionary()


def required(root: Node) -> Required:
    """What the plan demands of every column in it."""
    found = _known.get(root)
    if found is None:
        found = _known[root] = _collect(root)
    return found


def demands_the_same(before: Node, after: Node) -> None:
    """Says that a rule changed only how much its sources decode, which no demand depends on: three
    pruning rules need one collection, and with 15 000 columns that tells."""
    _known[after] = required(before)


def _collect(root: Node) -> Required:
    collector = _Collector()
    if not isinstance(root, (DataSink, Tail)):
        collector.want_rows(root)
    for node in topological(root):
        collector.visit(node)
    collector.note_whole_use()
    return collector.found


_WHOLE = (ALL,)
"""A use that leaves nothing to say for others: one for all columns, for there may be thousands."""


class _Collector:
    def __init__(self) -> None:
        self.found = Required()
        self._uses: dict[ColumnId, list[Demand]] = {}
        self._variables: dict[int, Demand] = {}
        self._whole: dict[ColumnId, Column] = {}
        self._partly: dict[ColumnId, Expr] = {}

    def want(self, column: ColumnId, demand: Demand) -> None:
        if demand is ALL:
            self.found.columns[column] = _WHOLE
            return
        uses = self._uses.setdefault(column, [])
        uses.append(demand)
        self.found.columns.setdefault(column, uses)

    def want_rows(self, node: Node) -> None:
        """Demands whole rows of a node."""
        self.found.columns.update(dict.fromkeys(node.output_ids, _WHOLE))

    # --- nodes ------------------------------------------------------------------------------------

    def visit(self, node: Node) -> None:
        match node:
            case DecodedSource():
                self._event_time(node)
            case Project(computed=computed, relation=relation):
                for ordinal, named in computed:
                    self.look(named.expr, self.found.column(relation.ids[ordinal]))
            case Aggregation(keys=keys, calls=calls, relation=relation):
                for _, key in keys:
                    self.look(key, ALL)
                for ordinal, (_, call) in enumerate(calls, start=len(keys)):
                    self.look(call, self._wanted(relation.id, ordinal))
                for expr in node.expressions[len(keys) + len(calls) :]:
                    self.look(expr, ALL)  # what else it goes by: the arguments of a window
            case (
                StatefulFunction(calls=calls, relation=relation)
                | Analytic(calls=calls, relation=relation)
            ):
                for ordinal, call in enumerate(calls):
                    self.look(call, self._wanted(relation.id, ordinal))
            case Generate(generator=call, relation=relation):
                self._generate(call, relation.id, len(relation.schema))
            case Union(inputs=inputs, relation=relation):
                for ordinal in range(len(relation.schema)):
                    wanted = self._wanted(relation.id, ordinal)
                    for branch in inputs:
                        self.look(branch.outputs[ordinal], wanted)
            case Subquery():
                self._subquery(node)
            case DataSink() | Distinct() | SetOperation() | Recursion():
                # All consume whole rows: a sink writes them, the others compare or repeat them.
                for child in node.children:
                    self.want_rows(child)
            case Keep() | OneRow() | RecursiveRows() | SparkTable() | TableFunction() | Values():
                pass  # hands on what is wanted of it, or has nothing below
            case Filter() | Join() | NearestJoin() | Window() | Sort() | Limit() | Tail() | Pivot():
                for expr in node.expressions:
                    self.look(expr, ALL)
            case _:
                # A node that nobody taught this function: it may look at anything.
                for expr in node.expressions:
                    self.look(expr, ALL)
                for child in node.children:
                    self.want_rows(child)

    def _subquery(self, node: Subquery) -> None:
        wanted = self._wanted(node.relation.id, 0)
        match node.kind:
            case SubqueryKind.SCALAR:
                self.look(node.subplan.outputs[0], wanted)
            case SubqueryKind.IN if wanted is not NOTHING:
                for expr in (*node.operands, *node.subplan.outputs):
                    self.look(expr, ALL)
            case _:
                pass  # EXISTS looks at no column: there is a row, or there is none

    def _wanted(self, relation: int, ordinal: int) -> Demand:
        return self.found.column(ColumnId(relation, ordinal))

    def _event_time(self, node: DecodedSource) -> None:
        """The event-time column is always needed: the watermark looks at it."""
        if node.source.eventtime is not None:
            ordinal = node.source.row.ordinal(node.source.eventtime)
            self.want(ColumnId(node.relation.id, ordinal), ALL)

    def _generate(self, call: Call, relation: int, count: int) -> None:
        assert call.function.generator is not None
        wanted = [self._wanted(relation, ordinal) for ordinal in range(count)]
        demands = call.function.generator.look(call, wanted)
        for arg, demand in zip(call.args, demands, strict=True):
            self.look(arg, demand)

    # --- expressions ------------------------------------------------------------------------------

    def look(self, expr: Expr, wanted: Demand) -> None:
        """Notes that this part of the expression's value is looked at."""
        if wanted is NOTHING:
            return
        match expr:
            case Column():
                self._note_column(expr, wanted)
                self.want(expr.id, wanted)
            case Variable(id=number):
                self._variables[number] = self._variables.get(number, NOTHING) | wanted
            case Literal():
                pass
            case FieldAccess(base=base, name=name):
                known = isinstance(base.dtype, Struct)
                self.look(base, fields({name: wanted}) if known else ALL)
            case ElementAccess(base=base, index=index):
                self._note_dynamic_index(expr)
                self.look(base, access(base, index, wanted))
                self.look(index, ALL)
            case Call():
                self._look_at_call(expr, wanted)
            case _:
                # CAST, forms carried as text, and any kind of expression added later.
                self._look_at_all(expr)

    def _look_at_call(self, call: Call, wanted: Demand) -> None:
        if call.distinct:
            demands: Sequence[Demand] = [ALL] * len(call.args)  # DISTINCT compares whole values
        else:
            demands = call.function.look(call, wanted, self._inside)
        for arg, demand in zip(call.args, demands, strict=True):
            if demand is ALL and (call.distinct or call.function.look is whole):
                self._note_whole_argument(call, arg)
            self.look(arg, demand)
        for clause in call.children[len(call.args) :]:
            self.look(clause, ALL)

    def _inside(self, function: Lambda, wanted: Demand) -> Sequence[Demand]:
        """Demands a lambda's body; answers with what that demands of each parameter."""
        ids = [parameter.id for parameter in function.parameters]
        for number in ids:
            self._variables.pop(number, None)
        self.look(function.body, wanted)
        return [self._variables.get(number, NOTHING) for number in ids]

    def _look_at_all(self, expr: Expr) -> None:
        for child in expr.children:
            if is_nested(child.dtype):
                self._lose(child, f"`{expression_text(expr)}` reads it as a whole")
            self.look(child, ALL)

    # --- where pruning is lost --------------------------------------------------------------------

    def _note_column(self, column: Column, wanted: Demand) -> None:
        if not is_nested(column.dtype):
            return
        if wanted is ALL:
            self._whole.setdefault(column.id, column)
        else:
            self._partly.setdefault(column.id, column)

    def note_whole_use(self) -> None:
        """A column used whole beside partly: the careful access saves nothing."""
        for key in self._whole.keys() & self._partly.keys():
            column = self._whole[key]
            text = expression_text(column)
            self._lose(column, f"`{text}` is used whole as well as in parts")

    def _note_whole_argument(self, call: Call, arg: Expr) -> None:
        if is_nested(arg.dtype):
            known = call.function.known
            why = "reads it as a whole" if known else "is a function that Narrows knows nothing of"
            shown = call.function.name if call.function.syntax else f"{call.function.name}(...)"
            self._lose(arg, f"`{shown}` {why}")

    def _note_dynamic_index(self, access: ElementAccess) -> None:
        if isinstance(access.index, Literal) or not isinstance(access.base.dtype, Array):
            return
        self._lose(access.base, f"the index in `{expression_text(access)}` is not constant")

    def _lose(self, expr: Expr, reason: str) -> None:
        if isinstance(expr.dtype, Unknown) or not any(True for _ in columns_of(expr)):
            return
        text = expression_text(expr)
        self.found.losses.setdefault(
            f"{text}:{reason}", Notice("pruning_lost", f"pruning stops at `{text}`: {reason}")
        )
