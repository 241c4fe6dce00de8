"""Binds the parser's expressions: names become columns, calls become functions, types are checked.

A problem does not stop the binder: it is noted, the broken part is treated as a value of unknown
type, and binding goes on, so that one run reports all that is wrong with a query. Whoever runs the
binder raises the problems at the end (`Problems.raise_if_any`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from sqlglot import exp

from narrows.demand_text import type_text
from narrows.errors import Code, NarrowsError, Span, did_you_mean, fail
from narrows.expressions.function import Function, Kind
from narrows.expressions.nodes import (
    Call,
    Cast,
    ElementAccess,
    Expr,
    FieldAccess,
    Lambda,
    Literal,
    SyntaxForm,
    Variable,
)
from narrows.expressions.text import expression_text
from narrows.functions import FunctionRegistry, operator
from narrows.schema import (
    BOOLEAN,
    INTEGRAL,
    STRING,
    UNKNOWN,
    VOID,
    Array,
    DataType,
    Map,
    Struct,
    Unknown,
)
from narrows.sql import forms
from narrows.sql.bind_calls import bind_call
from narrows.sql.binding import (
    Ids,
    Problems,
    SubqueryKind,
    find_function,
    name_of,
    refused,
    span_of,
)
from narrows.sql.dialect import NarrowsDialect
from narrows.sql.literals import (
    bind_literal,
    cast_literal,
    interval_literal,
    literal,
    typed_constant,
)
from narrows.sql.scope import Name, Scope
from narrows.sql.types import written_type

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
        unread = forms.unread_arguments(node)
        if unread:
            raise refused(f"{kind.__name__.upper()} with {', '.join(unread).upper()}", node)
        if kind in forms.BINARY_OPERATORS:
            return self._binary(node, forms.BINARY_OPERATORS[kind])
        if kind in forms.CONNECTORS:
            return self._connector(node, kind)
        match node:
            case exp.Column() | exp.Dot() | exp.Identifier() | exp.Bracket():
                return self._access(node)
            case exp.Paren():
                return self.bind(node.this)
            case exp.Literal() | exp.Boolean() | exp.Null() | exp.HexString():
                return bind_literal(node)
            case exp.Introducer():
                return typed_constant(node)
            case exp.Interval():
                return interval_literal(node) or self._carried(node)
            case exp.Neg(this=exp.Literal(is_string=False)):
                return bind_literal(node)
            case exp.Anonymous() | exp.Filter() | exp.Window() | exp.WithinGroup():
                return self._call(node)
            case exp.IgnoreNulls() | exp.RespectNulls():
                return self._call(node)
            case exp.Not():
                return self._not(node)
            case exp.Is():
                return self._is(node)
            case exp.NullSafeNEQ():
                return self._operation("not", self._binary(node, "<=>"))
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.Subquery():
                return self._subquery(SubqueryKind.SCALAR, node)
            case exp.Exists():
                return self._subquery(SubqueryKind.EXISTS, node.this)
            case exp.Escape():
                return self._escape(node)
            case exp.Case():
                return self._case(node)
            case exp.Cast():
                return self._cast(node)
        if kind in forms.UNARY_OPERATORS:
            return self._operation(forms.UNARY_OPERATORS[kind], self.bind(node.this))
        if kind in forms.NILADIC:
            return self.call(self._function(forms.NILADIC[kind], None), (), None)
        if kind in forms.REFUSED:
            raise refused(forms.REFUSED[kind], node)
        return self._carried(node)

    # --- access -----------------------------------------------------------------------------------

    def _access(self, node: exp.Expr) -> Expr:
        """A chain of `.name` and `[index]`, from its base outwards."""
        steps: list[exp.Expr] = []
        while True:
            if isinstance(node, exp.Dot) and isinstance(node.expression, exp.Identifier):
                steps.append(node.expression)
                node = node.this
            elif isinstance(node, exp.Bracket):
                steps.append(node)
                node = node.this
            elif isinstance(node, exp.Paren) and steps:
                node = node.this
            else:
                break
        steps.reverse()
        match node:
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    raise refused(forms.REFUSED[exp.Star], node)
                names = [name_of(part) for part in node.parts]
            case exp.Identifier():
                names = [name_of(node)]
            case exp.Dot():
                raise refused("method calls", node)
            case _:
                names = []
        while names and steps and isinstance(steps[0], exp.Identifier):
            names.append(name_of(steps.pop(0)))
        if len(names) == 1 and not steps:
            word = names[0].text.lower()
            if word in forms.WITHOUT_BRACKETS and not self.scope.knows(names):
                return self.call(self._function(word, names[0].span), (), names[0].span)
        value, fields = self.scope.resolve(names) if names else (self.bind(node), [])
        for name in fields:
            value = self.field(value, name)
        for step in steps:
            if isinstance(step, exp.Bracket):
                value = self._element(value, step)
            else:
                value = self.field(value, name_of(step))
        return value

    def field(self, base: Expr, name: Name) -> Expr:
        span = Span.around((base.span, name.span))
        match base.dtype:
            case Struct() as struct:
                found = struct.find(name.text)
                if len(found) == 1:
                    field = struct.fields[found[0]]
                    return FieldAccess(base=base, name=field.name, dtype=field.type, span=span)
                if found:
                    spellings = " or ".join(f"`{struct.fields[o].name}`" for o in found)
                    raise fail(
                        Code.AMBIGUOUS_COLUMN,
                        f"field `{name.text}` is ambiguous: fields differ by case only",
                        name.span,
                        f"write {spellings} exactly",
                    )
                raise fail(
                    Code.UNKNOWN_FIELD,
                    f"field `{name.text}` not found in `{type_text(struct)}`",
                    name.span,
                    did_you_mean(name.text, struct.names),
                )
            case Array(Struct() as element):
                return self._field_of_elements(base, element, name, span)
            case Map(_, value):
                key = literal(name.text)
                return ElementAccess(base=base, index=key, dtype=value, span=span)
            case Unknown():
                return FieldAccess(base=base, name=name.text, dtype=UNKNOWN, span=span)
            case other:
                raise fail(
                    Code.NOT_A_STRUCT,
                    f"`{expression_text(base)}` is {type_text(other)}, it has no field"
                    f" `{name.text}`",
                    name.span,
                )

    def _field_of_elements(
        self, base: Expr, element: Struct, name: Name, span: Span | None
    ) -> Expr:
        """`items.x` on a list of structs is the list of their `x`, as in Spark."""
        variable = Variable(id=self.variable_id(0), name="element", dtype=element)
        body = self.field(variable, name)
        each = Lambda(parameters=(variable,), body=body, dtype=UNKNOWN)
        return self.call(self._function("transform", None), (base, each), span)

    def _element(self, base: Expr, step: exp.Bracket) -> Expr:
        if len(step.expressions) != 1:
            raise fail(
                Code.SYNTAX_ERROR,
                "expected exactly one index between the brackets",
                span_of(step),
                "write `m[0][1]` for a list of lists",
            )
        index = self.bind(step.expressions[0])
        span = Span.around((base.span, span_of(step)))
        match base.dtype:
            case Struct() if isinstance(index, Literal) and isinstance(index.value, str):
                return self.field(base, Name(index.value, span))  # b['c']
            case Array(element):
                if index.dtype not in (*INTEGRAL, UNKNOWN):
                    raise fail(
                        Code.WRONG_TYPE,
                        f"a list index must be an integer, `{expression_text(index)}` is"
                        f" {type_text(index.dtype)}",
                        index.span or span,
                    )
                return ElementAccess(base=base, index=index, dtype=element, span=span)
            case Map(key, value):
                return ElementAccess(base=base, index=_as_key(index, key), dtype=value, span=span)
            case Unknown():
                return ElementAccess(base=base, index=index, dtype=UNKNOWN, span=span)
            case other:
                hint = "a field is read by name: `b->c`" if isinstance(other, Struct) else None
                raise fail(
                    Code.NOT_A_LIST,
                    f"`{expression_text(base)}` is {type_text(other)}, it cannot be indexed",
                    span,
                    hint,
                )

    # --- operators --------------------------------------------------------------------------------

    def _operation(self, name: str, *args: Expr) -> Expr:
        return self.call(operator(name), args, None)

    def _binary(self, node: exp.Expr, name: str) -> Expr:
        if isinstance(node.expression, (exp.Any, exp.All)):
            return self._match_several(node, name)
        if node.args.get("negate"):
            return self._operation("not", self._positive(node, name))
        return self._positive(node, name)

    def _positive(self, node: exp.Expr, name: str) -> Expr:
        # Chains such as a + b + c + ... nest to the left, as deep as they are long.
        operands = []
        kind = type(node)
        while type(node) is kind and type(node.this) is kind:
            operands.append(node.expression)
            node = node.this
        value = self._operation(name, self.bind(node.this), self.bind(node.expression))
        for operand in reversed(operands):
            value = self._operation(name, value, self.bind(operand))
        return value

    def _match_several(self, node: exp.Expr, name: str) -> Expr:
        """`a LIKE ANY (p, q)` is `a LIKE p OR a LIKE q`; with NOT, each of them is negated."""
        value = self.bind(node.this)
        tests = []
        for pattern in node.expression.this.expressions:
            test = self._operation(name, value, self.bind(pattern))
            tests.append(self._operation("not", test) if node.args.get("negate") else test)
        connector = "or" if isinstance(node.expression, exp.Any) else "and"
        return tests[0] if len(tests) == 1 else self._operation(connector, *tests)

    def _connector(self, node: exp.Expr, kind: type[exp.Expr]) -> Expr:
        """`a AND b AND c` is one call with three arguments, however many there are."""
        operands: list[exp.Expr] = []
        pending = [node]
        while pending:
            part = pending.pop()
            if type(part) is kind:
                pending.extend((part.expression, part.this))
            else:
                operands.append(part)
        return self._operation(forms.CONNECTORS[kind], *(self.bind(part) for part in operands))

    def _not(self, node: exp.Not) -> Expr:
        if isinstance(node.this, exp.Is) and isinstance(node.this.expression, exp.Null):
            return self._operation("is not null", self.bind(node.this.this))
        return self._operation("not", self.bind(node.this))

    def _is(self, node: exp.Is) -> Expr:
        operand = self.bind(node.this)
        match node.expression:
            case exp.Null():
                test = "is not null" if node.args.get("negate") else "is null"
                return self._operation(test, operand)
            case exp.Boolean(this=truth):
                tested = self._operation("is true" if truth else "is false", operand)
                return self._operation("not", tested) if node.args.get("negate") else tested
            case exp.Var():
                return self._operation("is unknown", operand)
            case _:
                raise fail(
                    Code.SYNTAX_ERROR,
                    "IS takes NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM",
                    span_of(node),
                )

    def _between(self, node: exp.Between) -> Expr:
        if node.args.get("symmetric"):
            raise refused("BETWEEN SYMMETRIC", node)
        parts = (node.this, node.args["low"], node.args["high"])
        return self._operation("between", *(self.bind(part) for part in parts))

    def _in(self, node: exp.In) -> Expr:
        query = node.args.get("query")
        if query is not None:
            asked = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
            return self._subquery(SubqueryKind.IN, query, asked)
        for key in ("unnest", "field"):
            if node.args.get(key):
                raise refused("IN without a list in brackets", node)
        if not node.expressions:
            raise fail(Code.SYNTAX_ERROR, "IN takes values or a query in brackets", span_of(node))
        operands = (node.this, *node.expressions)
        return self._operation("in", *(self.bind(operand) for operand in operands))

    def _subquery(
        self, kind: SubqueryKind, node: exp.Expr, operands: Sequence[exp.Expr] = ()
    ) -> Expr:
        if self.plan_subquery is None:
            raise refused(f"a subquery in {self.clause}", node)
        if self.scope.lambda_depth:
            raise refused("a subquery in a lambda", node)
        if self.clause == "ON":
            raise fail(
                Code.NOT_SUPPORTED,
                "a subquery in ON cannot be planned yet",
                span_of(node),
                "move the condition into WHERE, or join with the subquery",
            )
        clause, allowed = self.clause, self.allowed
        bound = tuple(self.bind(operand) for operand in operands)
        try:
            return self.plan_subquery(kind, bound, node)
        finally:
            self.clause, self.allowed = clause, allowed

    def _escape(self, node: exp.Escape) -> Expr:
        match = node.this
        if type(match) not in (exp.Like, exp.ILike):
            return self._carried(node)
        name = forms.BINARY_OPERATORS[type(match)]
        operands = (match.this, match.expression, node.expression)
        matched = self._operation(name, *(self.bind(operand) for operand in operands))
        return self._operation("not", matched) if match.args.get("negate") else matched

    def _case(self, node: exp.Case) -> Expr:
        args: list[Expr] = []
        for branch in node.args["ifs"]:
            condition = self.bind(branch.this)
            if node.this is not None:
                condition = self._operation("=", self.bind(node.this), condition)
            args.extend((condition, self.bind(branch.args["true"])))
        default = node.args.get("default")
        if default is not None:
            args.append(self.bind(default))
        return self._operation("case", *args)

    def _cast(self, node: exp.Cast) -> Expr:
        text, dtype = written_type(node.to)
        operand = self.bind(node.this)
        typed = cast_literal(operand, dtype)
        if typed is not None:
            return typed
        return Cast(
            operand=operand,
            to=text,
            safe=isinstance(node, exp.TryCast),
            dtype=dtype,
            span=operand.span,
        )

    def _carried(self, node: exp.Expr) -> Expr:
        """A form that Spark understands and we do not have to: its text, around bound operands."""
        operands: list[Expr] = []

        def hole_for(operand: exp.Expr) -> exp.Expr:
            operands.append(self.bind(operand))
            return exp.column(_hole(len(operands) - 1))

        template = _with_holes(node, hole_for)
        # The text may have the operands in another order than the tree.
        pieces = _HOLE.split(template.sql(dialect=NarrowsDialect))
        return SyntaxForm(
            pieces=tuple(pieces[0::2]),
            operands=tuple(operands[int(number)] for number in pieces[1::2]),
            dtype=UNKNOWN,
            span=Span.around(operand.span for operand in operands) or span_of(node),
        )

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, node: exp.Expr) -> Expr:
        return bind_call(self, node)

    def call(self, function: Function, args: tuple[Expr, ...], span: Span | None) -> Expr:
        span = span or Span.around(arg.span for arg in args)
        return Call(function=function, args=args, dtype=function.result(args), span=span)

    def _function(self, name: str, span: Span | None) -> Function:
        return find_function(self.functions, name, span)


def _as_key(index: Expr, key: DataType) -> Expr:
    """What a map is asked for, as Spark does it: of a map of texts, `m[0]` is `m['0']`."""
    if index.dtype == key or STRING not in (index.dtype, key) or UNKNOWN in (index.dtype, key):
        return index
    if isinstance(index, Literal) and isinstance(index.value, int) and key == STRING:
        return literal(str(index.value).lower())
    return Cast(operand=index, to=key.sql(), dtype=key, span=index.span)


def _with_holes(node: exp.Expr, hole_for: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """A copy of a form with its values cut out; brackets, types and words belong to the form.

    The values themselves are not copied, for they may be as large as the query.
    """

    def cut(part: object) -> object:
        match part:
            case list():
                return [cut(inner) for inner in part]
            case exp.Tuple() | exp.Paren():
                return _with_holes(part, hole_for)
            case exp.Var() | exp.DataType() | exp.Identifier() | exp.IntervalSpan():
                return part.copy()
            case exp.Expr():
                return hole_for(part)
            case _:
                return part

    return type(node)(**{name: cut(part) for name, part in node.args.items()})


_HOLE = re.compile(r"__operand_(\d+)__")


def _hole(number: int) -> str:
    return f"__operand_{number}__"
