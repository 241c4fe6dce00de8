"""TABLESAMPLE: some of the rows.

    FROM t TABLESAMPLE (10 PERCENT)              each row with this probability: rand() < 0.1
    FROM t TABLESAMPLE (BUCKET 1 OUT OF 4)       the same, as a fraction
    FROM t TABLESAMPLE (5 ROWS)                  the first that come: LIMIT 5
    ... REPEATABLE (7)                           rand(7)

Which rows they are is Spark's choice, too: what is repeatable there is so for the same files, read
by as many tasks.
"""

from __future__ import annotations

from sqlglot import exp

from narrows.errors import Code, NarrowsError, fail
from narrows.logical.nodes import Filter, Limit, Node
from narrows.sql.binder.context import refused, span_of
from narrows.sql.binder.expression import Binder

_READ = frozenset(("percent", "size", "bucket_numerator", "bucket_denominator", "seed"))


def plan_sample(plan: Node, sample: exp.Expr, binder: Binder) -> Node:
    for key, value in sample.args.items():
        if value and key not in _READ:
            raise refused(f"TABLESAMPLE with {key.strip('_').upper().replace('_', ' ')}", sample)
    if sample.args.get("size"):
        return Limit(child=plan, count=int(_number(sample, "size")), offset=0)
    if sample.args.get("bucket_numerator"):
        whole = _number(sample, "bucket_denominator")
        fraction = _number(sample, "bucket_numerator") / whole if whole else 2.0
    else:
        fraction = _number(sample, "percent") / 100
    if fraction > 1:
        raise _wrong(sample, "takes at most all rows: 100 PERCENT")
    seed = [exp.Literal.number(int(_number(sample, "seed")))] if sample.args.get("seed") else []
    chance = exp.Anonymous(this="rand", expressions=seed)
    digits = f"{fraction:.15f}".rstrip("0").removesuffix(".")
    test = exp.LT(this=chance, expression=exp.Literal.number(f"{digits}D"))
    return Filter(child=plan, predicate=binder.condition("TABLESAMPLE", test))


def _number(sample: exp.Expr, key: str) -> float:
    node = sample.args.get(key)
    if not isinstance(node, exp.Literal) or node.is_string:
        raise _wrong(sample, "takes a number")
    try:
        return float(node.name)
    except ValueError:  # `300M`, so many bytes
        raise _wrong(sample, "takes a number of rows or a percentage") from None


def _wrong(sample: exp.Expr, why: str) -> NarrowsError:
    return fail(
        Code.SYNTAX_ERROR,
        f"TABLESAMPLE {why}",
        span_of(sample.parent) if sample.parent is not None else None,
        "write `TABLESAMPLE (10 PERCENT)` or `TABLESAMPLE (5 ROWS)`",
    )
