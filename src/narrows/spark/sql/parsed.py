"""Text of ours that Spark parses: the one way to it.

Spark puts values into SQL text before it reads it: `${env:HOME}` becomes the driver's home folder,
also inside a string. In our SQL a text means itself, wherever it is looked at - our readers test
some, Spark others -, so Spark gets strings in which there is nothing to replace.

An embedded Spark has that switched off (`spark.sql.variable.substitute`). In a session of the
user's it is the user's setting, and stays what it is.
"""

from __future__ import annotations

import re

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from narrows.errors import Code, fail

SUBSTITUTE = "spark.sql.variable.substitute"

VARIABLE = "${"
"""What Spark takes for the beginning of a variable."""
_QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|`(?:``|[^`])*`", re.DOTALL)


def parsed_query(spark: SparkSession, query: str) -> DataFrame:
    return spark.sql(_as_it_is(spark, query))


def parsed_column(expression: str) -> Column:
    if VARIABLE in expression:
        expression = _as_it_is(SparkSession.active(), expression)
    return F.expr(expression)


def _as_it_is(spark: SparkSession, text: str) -> str:
    if VARIABLE not in text:
        return text
    text = _QUOTED.sub(lambda quoted: _escaped(quoted[0]), text)
    if VARIABLE in text and spark.conf.get(SUBSTITUTE, "true") == "true":
        # A name, for which there is no other way to write it.
        raise fail(
            Code.NOT_SUPPORTED,
            f"the name of a field has `{VARIABLE}` in it, which Spark takes for a variable",
            hint=f"switch that off: `spark.conf.set('{SUBSTITUTE}', 'false')`",
        )
    return text


def _escaped(quoted: str) -> str:
    return quoted.replace(VARIABLE, "\\u0024{") if quoted.startswith("'") else quoted
