"""Joins with the nearest rows: `u JOIN p APPROX NEAREST 3 BY DISTANCE abs(u.x - p.x)`."""

from __future__ import annotations

from typing import Any

from sqlglot import exp
from sqlglot.parsers.spark import SparkParser

_MODES = ("APPROX", "EXACT")
_DIRECTIONS = ("DISTANCE", "SIMILARITY")


class NearestParser(SparkParser):
    """Reads what stands after the right side of such a join."""

    def _parse_join(self, *args: Any, **options: Any) -> exp.Join | None:
        join: exp.Join | None = super()._parse_join(*args, **options)
        if join is not None and self._at_nearest():
            join.set("nearest", self._parse_nearest())
        return join

    def _parse_table_alias(self, *args: Any, **options: Any) -> exp.TableAlias | None:
        """`JOIN p APPROX NEAREST ...`: that is no alias."""
        if self._at_nearest():
            return None
        alias: exp.TableAlias | None = super()._parse_table_alias(*args, **options)
        return alias

    def _at_nearest(self) -> bool:
        return any(self._match_text_seq(mode, "NEAREST", advance=False) for mode in _MODES)

    def _parse_nearest(self) -> exp.Nearest:
        approximate = self._curr.text.upper() == "APPROX"
        self._advance(2)
        count = self._parse_number() or exp.Literal.number(1)
        if not self._match_text_seq("BY") or self._curr.text.upper() not in _DIRECTIONS:
            self.raise_error("BY DISTANCE or BY SIMILARITY belongs after NEAREST")
        similarity = self._curr.text.upper() == "SIMILARITY"
        self._advance()
        ranking = self._parse_disjunction()
        if ranking is None:
            self.raise_error("an expression is missing here")
        return self.expression(
            exp.Nearest(this=ranking, count=count, approximate=approximate, similarity=similarity)
        )
