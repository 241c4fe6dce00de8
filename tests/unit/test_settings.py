"""SET narrows.rule.x = off."""

from __future__ import annotations

import pytest

from narrows import Catalog, NarrowsError, plan
from support.golden import golden_catalog

TABLES = """
CREATE STREAM s (a BIGINT, b STRUCT<c: BIGINT, d: STRING>) WITH (connector = 'file', path = 'p');
CREATE SINK o WITH (connector = 'file', path = 'out');
CREATE PIPELINE p INTO o AS SELECT a, b->c FROM s WHERE a > 1;
"""


def catalog() -> Catalog:
    made = Catalog()
    made.execute(TABLES)
    return made


@pytest.mark.parametrize(
    ("rule", "gone"),
    [
        ("by_index_projection_into_encoder_rewrite", "by_index_projection"),
        ("filter_into_decoder", "filter=["),
    ],
)
def test_a_rule_is_switched_off_and_on_again(rule: str, gone: str) -> None:
    made = catalog()
    assert gone in made.plan_pipeline("p").explain("physical")
    made.execute(f"SET narrows.rule.{rule} = off")
    assert gone not in made.plan_pipeline("p").explain("physical")
    made.execute(f"set narrows.rule.{rule.upper()} = ON")
    assert gone in made.plan_pipeline("p").explain("physical")


def test_explain_says_that_a_rule_is_the_reason() -> None:
    made = golden_catalog()
    made.execute("SET narrows.rule.streaming_aggregation_rewrite = off")
    text = plan("SELECT count(*) FROM ev GROUP BY tumblingwindow('ss', 10)", made).explain(
        "physical"
    )
    assert "state=rows (`streaming_aggregation_rewrite` is off)" in text


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SET narrows.rule.constant_fold = off", "did you mean `narrows.rule.constant_folding`"),
        ("SET narrows.rule.constant_folding = maybe", "is on or off, not `maybe`"),
        ("SET = off", "expected a setting"),
        ("SET narrows.rule.constant_folding", "expected"),
        ("SET narrows.rule.constant_folding =", "on or off"),
    ],
)
def test_what_is_no_setting_is_refused(sql: str, message: str) -> None:
    with pytest.raises(NarrowsError, match=message):
        catalog().execute(sql)
