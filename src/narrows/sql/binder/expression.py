"""Binds the parser's expressions: names become columns, calls become functions, types are checked.

A problem does not stop the binder: it is noted, the broken part is treated as a value of unknown
type, and binding goes on, so that one run reports all that is wrong with a query. Whoever runs the
binder raises the problems at the end (`Problems.raise_if_any`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlglot import exp

from narrows.demand_text import type_text
from narrows.errors import Code, NarrowsError, Span, fail
from narrows.expressions.function import Function, Kind
from narrows.expressions.nodes import (
    Call,
    Expr,
    Literal,
)
from narrows.expressions.text import expression_text
from narrows.functions import FunctionRegistry
from narrows.schema import (
    BOOLEAN,
    UNKNOWN,
    VOID,
)
from narrows.sql.binder import forms
from narrows.sql.binder.access import bind_access, bind_name, field, part_of_variant
from narrows.sql.binder.calls import bind_call
from narrows.sql.binder.carried import carried, named_argument
from narrows.sql.binder.context import (
    Ids,
    Problems,
    SubqueryKind,
    find_function,
    refused,
)
from narrows.sql.binder.literals import (
    bind_literal,
    interval_literal,
    typed_constant,
)
from narrows.sql.binder.operators import (
    between,
    binary,
    case,
    cast,
    connector,
    escape,
    in_test,
    is_test,
    negation,
    operation,
)
from narrows.sql.binder.stars import column_at
from narrows.sql.scope import Name, Scope

BROKEN = Literal(text="NULL", dtype=UNKNOWN)
"""Stands where something could not be bound; nothing more is said about it."""


PlanSubquery = Callable[[SubqueryKind, tuple[Expr, ...], exp.Expr], Expr]
"""Plans a subquery of an expression; the value that stands for its answer."""


class Binder:
    """Binds expressions of one query block."""

    def __init__(
        self, scope: Scope, functions: FunctionRegistry, problems: Problems, ids: Ids
    ) -> None:
        self.scope = scope
        self.functions = functions
        self.problems = problems
        self.ids = ids
        self.clause = "this clause"
        self.allowed: frozenset[Kind] = frozenset()
        self.plan_subquery: PlanSubquery | None = None
        self.named_windows: Mapping[str, exp.Window] = {}
        """The WINDOW clause, by folded name."""

    def bind_in(self, clause: str, node: exp.Expr, *allowed: Kind) -> Expr:
        """Binds an expression of a clause, in which these kinds of function may be called."""
        self.clause, self.allowed = clause, frozenset(allowed)
        return self.bind(node)

    def condition(self, clause: str, node: exp.Expr, *allowed: Kind) -> Expr:
        """Binds an expression that must be true or false."""
        expr = self.bind_in(clause, node, *allowed)
        if expr.dtype not in (BOOLEAN, VOID, UNKNOWN):
            raise fail(
                Code.WRONG_TYPE,
                f"{clause} takes a condition, `{expression_text(expr)}` is {type_text(expr.dtype)}",
                expr.span,
            )
        return expr

    @contextmanager
    def within(self, place: str, allowed: frozenset[Kind]) -> Iterator[None]:
        """Binds what stands inside something else, with other functions allowed there."""
        before = self.clause, self.allowed
        self.clause, self.allowed = place, allowed
        try:
            yield
        finally:
            self.clause, self.allowed = before

    def variable_id(self, place: int) -> int:
        """The number of a lambda's parameter: by depth and place, so that equal lambdas compare
        equal wherever they stand."""
        return self.scope.lambda_depth * 10 + place

    def bind(self, node: exp.Expr) -> Expr:
        try:
            return self._bind(node)
        except NarrowsError as error:
            self.problems.add(error)
            return BROKEN

    def _bind(self, node: exp.Expr | None) -> Expr:
        if node is None:  # sqlglot lets some operators go without an operand
            raise fail(Code.SYNTAX_ERROR, "an expression is missing")
        kind = type(node)
        if type(node) is exp.Column and len(node.args) == 1 and type(node.this) is exp.Identifier:
            return bind_name(self, node)  # most of a long select list: there is nothing else to it
        unread = forms.unread_arguments(node)
        if unread:
            raise refused(f"{kind.__name__.upper()} with {', '.join(unread).upper()}", node)
        if kind in forms.BINARY_OPERATORS:
            return binary(self, node, forms.BINARY_OPERATORS[kind])
        if kind in forms.CONNECTORS:
            return connector(self, node, kind)
        match node:
            case (
                exp.Dot(expression=exp.Anonymous())
                | exp.Column(this=exp.Filter() | exp.WithinGroup())
            ):
                return bind_call(self, node)
            case exp.Column() | exp.Dot() | exp.Identifier() | exp.Bracket():
                return bind_access(self, node)
            case exp.PositionalColumn():
                return column_at(node, self)
            case exp.Paren():
                return self.bind(node.this)
            case exp.JSONExtract():
                return part_of_variant(self, node)
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.HexString():
                return bind_literal(node)
            case exp.Introducer():
                return typed_constant(node)
            case exp.Interval():
                return interval_literal(node) or carried(self, node)
            case exp.Neg(this=exp.Literal(is_string=False)):
                return bind_literal(node)
            case exp.Anonymous() | exp.Filter() | exp.Window() | exp.WithinGroup():
                return bind_call(self, node)
            case exp.IgnoreNulls() | exp.RespectNulls():
                return bind_call(self, node)
            case exp.Tuple():
                return bind_call(self, exp.Anonymous(this="struct", expressions=node.expressions))
            case exp.Substring(args={"start": exp.Expr() as start, **rest}):
                # `substring(s FROM 1 FOR 2)`, which Spark forgets: it is a call as any other.
                args = [node.this, start, *filter(None, [rest.get("length")])]
                return bind_call(self, exp.Anonymous(this="substring", expressions=args))
            case exp.Kwarg():
                return named_argument(self, node)
            case exp.Not():
                return negation(self, node)
            case exp.Is():
                return is_test(self, node)
            case exp.NullSafeNEQ():
                return operation(self, "not", binary(self, node, "<=>"))
            case exp.Between():
                return between(self, node)
            case exp.In():
                return in_test(self, node)
            case exp.Subquery():
                return self.subquery(SubqueryKind.SCALAR, node)
            case exp.Exists():
                return self.subquery(SubqueryKind.EXISTS, node.this)
            case exp.Escape():
                return escape(self, node)
            case exp.Case():
                return case(self, node)
            case exp.Cast():
                return cast(self, node)
        if kind in forms.UNARY_OPERATORS:
            return operation(self, forms.UNARY_OPERATORS[kind], self.bind(node.this))
        if kind in forms.NILADIC:
            name = forms.NILADIC[kind]
            if self.scope.hides(name):
                return bind_access(self, exp.column(name))
            return self.call(self.function(name, None), (), None)
        if kind in forms.REFUSED:
            raise refused(forms.REFUSED[kind], node)
        return carried(self, node)

    def field(self, base: Expr, name: Name) -> Expr:
        """A field of a struct, of a list's structs, or a map's value."""
        return field(self, base, name)

    def subquery(
        self, kind: SubqueryKind, node: exp.Expr, operands: Sequence[exp.Expr] = ()
    ) -> Expr:
        if self.plan_subquery is None:
            raise refused(f"a subquery in {self.clause}", node)
        if self.scope.lambda_depth:
            raise refused("a subquery in a lambda", node)
        clause, allowed = self.clause, self.allowed
        bound = tuple(self.bind(operand) for operand in operands)
        self.scope.asking = allowed
        try:
            return self.plan_subquery(kind, bound, node)
        finally:
            self.clause, self.allowed = clause, allowed

    def call(self, function: Function, args: tuple[Expr, ...], span: Span | None) -> Expr:
        span = span or Span.around(arg.span for arg in args)
        return Call(function=function, args=args, dtype=function.result(args), span=span)

    def function(self, name: str, span: Span | None) -> Function:
        return find_function(self.functions, name, span)
