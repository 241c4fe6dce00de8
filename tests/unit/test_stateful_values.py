"""How values that were remembered compare with new ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from narrows.stateful.values import less, same

BERLIN = ZoneInfo("Europe/Berlin")


def test_an_hour_that_clocks_show_twice() -> None:
    first = datetime(2024, 10, 27, 0, 30, tzinfo=UTC).astimezone(BERLIN)
    then = first.astimezone(UTC) + timedelta(hours=1)
    assert first.replace(fold=1) == first, "as Python sees it"
    assert not same(first, then.astimezone(BERLIN))
    assert less(first, then.astimezone(BERLIN))


def test_a_time_that_comes_back_without_its_zone() -> None:
    moment = datetime(2024, 10, 27, 0, 30, tzinfo=UTC).astimezone(BERLIN)
    kept = datetime.fromisoformat(moment.isoformat())
    assert kept != moment, "as Python sees it, for the hour is there twice"
    assert same(kept, moment)
    assert not less(kept, moment)
    assert same([{"at": kept}], [{"at": moment}])


def test_the_first_and_the_last_years() -> None:
    early = datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))
    late = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))
    assert less(early, late)
    assert same(early, early)


def test_times_without_zone() -> None:
    assert same(datetime(2024, 1, 1), datetime(2024, 1, 1))
    assert less(datetime(2024, 1, 1), datetime(2024, 1, 2))
