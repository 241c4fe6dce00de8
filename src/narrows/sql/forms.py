"""What the parser's expression classes mean to us.

Every class that sqlglot has must be accounted for; a test enumerates them and fails on one that
nobody classified. A class that turns up all the same is *carried*: its text goes to Spark as it is
and everything below it is demanded.
"""

from __future__ import annotations

from sqlglot import exp

BINARY_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.IntDiv: "div",
    exp.Mod: "%",
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseXor: "^",
    exp.DPipe: "||",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "rlike",
}

CONNECTORS: dict[type[exp.Expr], str] = {exp.And: "and", exp.Or: "or"}

UNARY_OPERATORS: dict[type[exp.Expr], str] = {exp.Neg: "negative", exp.BitwiseNot: "bitnot"}

NILADIC: dict[type[exp.Expr], str] = {
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
}

BOUND: frozenset[type[exp.Expr]] = frozenset(
    {
        # names and access
        exp.Column,
        exp.Identifier,
        exp.Dot,
        exp.Bracket,
        exp.Paren,
        # constants
        exp.Literal,
        exp.Boolean,
        exp.Null,
        exp.HexString,
        exp.RawString,
        exp.Interval,
        # calls and their clauses
        exp.Anonymous,
        exp.Lambda,
        exp.Filter,
        exp.Window,
        exp.WithinGroup,
        exp.IgnoreNulls,
        exp.RespectNulls,
        # operators with a shape of their own
        exp.Case,
        exp.Cast,
        exp.TryCast,
        exp.Between,
        exp.In,
        exp.Is,
        exp.Not,
        exp.Escape,
        exp.NullSafeNEQ,
    }
)
"""Forms that the binder handles one by one."""

CARRIED: frozenset[type[exp.Expr]] = frozenset(
    {
        exp.AtTimeZone,
        exp.FromTimeZone,
        exp.Collate,
        exp.Extract,
        exp.Trim,
        exp.Substring,
        exp.StrPosition,
        exp.Overlay,
        exp.Any,
        exp.All,
        exp.Tuple,
        exp.SimilarTo,
    }
)
"""Forms that go to Spark as they are; everything below them is demanded."""

REFUSED: dict[type[exp.Expr], str] = {
    exp.Subquery: "subqueries",
    exp.Select: "subqueries",
    exp.Union: "subqueries",
    exp.Except: "subqueries",
    exp.Intersect: "subqueries",
    exp.Exists: "EXISTS subqueries",
    exp.Placeholder: "query parameters",
    exp.Parameter: "query parameters",
    exp.SessionParameter: "session parameters",
    exp.Slice: "list slices",
    exp.JSONExtract: "JSON paths",
    exp.JSONCast: "JSON paths",
    exp.JSONExtractScalar: "JSON paths (`->>`)",
    exp.JSONBExtract: "JSON paths (`#>`)",
    exp.JSONBExtractScalar: "JSON paths (`#>>`)",
    exp.Kwarg: "named arguments",
    exp.PropertyEQ: "assignments in expressions",
    exp.Alias: "aliases inside expressions",
    exp.Star: "`*` at this place",
    exp.Distinct: "DISTINCT at this place",
    exp.Order: "ORDER BY inside a function call",
    exp.Limit: "LIMIT inside a function call",
    exp.HavingMax: "HAVING MAX inside a function call",
}
"""Forms that cannot be planned, with what to call them in the message."""
