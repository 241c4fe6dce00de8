"""What is kept of a plan to tell whether a pipeline's state fits: it must not change by itself."""

from __future__ import annotations

import narrows
from narrows.state.plan_shape import shape_of


def test_a_join_is_kept_as_ever() -> None:
    """Checkpoints of earlier versions have just this."""
    catalog = narrows.Catalog()
    catalog.execute(
        "CREATE STREAM s (a INT) WITH (connector = 'file', path = 'x');"
        "CREATE TABLE t (a INT) WITH (connector = 'file', path = 'y')"
    )
    plan = narrows.plan("SELECT s.a FROM s JOIN t ON s.a = t.a", catalog)
    (kept,) = shape_of(plan.physical)["state"]
    columns = [["column", 0, "a"], ["column", 1, "a"]]
    condition = ["Call", "=", columns, False, False, None, [], [], [], None]
    assert kept["what"] == ["Join", {"kind": "INNER", "condition": condition}]
