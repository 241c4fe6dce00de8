"""Formats and connectors of third parties, and what is said of those that do not work."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from narrows import Catalog, NarrowsError
from narrows.formats.base import find_format
from narrows.plugins.registry import CONNECTORS, FORMATS
from support.packages import build_wheel, install

FORMAT = "from narrows.formats import Format\n"
DECODED = "source_options=(), decoder=lambda options: None"

Bring = Callable[..., None]


@pytest.fixture
def bring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bring:
    """Installs a package whose one module is given, with entry points by group."""

    def bring(package: str, source: str, **entry_points: dict[str, str]) -> None:
        folder = tmp_path / package
        folder.mkdir()
        points = {f"narrows.{group}": named for group, named in entry_points.items()}
        wheel = build_wheel(folder, package, {f"{package}.py": source}, points)
        install(wheel, folder / "site", monkeypatch)

    return bring


def refused(format: str) -> str:
    sql = f"CREATE STREAM s (a INT) WITH (connector = 'file', path = 'p', format = '{format}')"
    with pytest.raises(NarrowsError) as caught:
        Catalog().execute(sql)
    return str(caught.value)


def test_a_format_is_found_and_suggested_by_the_name_of_its_entry_point(bring: Bring) -> None:
    source = f"{FORMAT}FORMAT = Format(name='morse', {DECODED})"
    bring("third_1", source, formats={"morse": "third_1:FORMAT"})
    assert FORMATS.names() == ["json", "csv", "text", "parquet", "rows", "morse"]
    assert find_format("morse") is FORMATS.find("morse")
    assert "did you mean `morse`?" in refused("mosre")
    assert "source formats are json, csv, text, parquet, morse" in refused("xyz")


def test_a_connector_is_found_in_the_same_way(bring: Bring) -> None:
    source = """
from narrows.plugins.declared import ConnectorSpec
CONNECTOR = ConnectorSpec(name="pigeon", source_options=(), delivers="messages")
"""
    bring("third_2", source, connectors={"pigeon": "third_2:CONNECTOR"})
    Catalog().execute("CREATE STREAM s (a INT) WITH (connector = 'pigeon')")
    with pytest.raises(NarrowsError, match=r"invalid_option.*format `parquet` is read from files"):
        Catalog().execute("CREATE STREAM s (a INT) WITH (connector = 'pigeon', format = 'parquet')")
    with pytest.raises(NarrowsError, match="no sink connector is called `pigeon`"):
        Catalog().execute("CREATE SINK s WITH (connector = 'pigeon')")
    assert [found.name for found in CONNECTORS.usable(sink=False)] == [
        "file",
        "kafka",
        "mqtt",
        "http",
        "memory",
        "pigeon",
    ]


def test_messages_that_do_not_stand_in_files(bring: Bring) -> None:
    source = f"{FORMAT}FORMAT = Format(name='datums', {DECODED}, framing=None)"
    bring("third_3", source, formats={"datums": "third_3:FORMAT"})
    assert "invalid_option" in refused("datums")
    assert "payloads of format `datums` do not stand in files" in refused("datums")


BROKEN = [
    pytest.param("import not_there", "No module named 'not_there'", id="import"),
    pytest.param("1 / 0", "ZeroDivisionError: division by zero", id="bug"),
    pytest.param("", "has no attribute 'FORMAT'", id="nothing"),
    pytest.param("FORMAT = 1", "TypeError: `{module}:FORMAT` is no FormatSpec", id="type"),
    pytest.param(
        f"{FORMAT}FORMAT = Format(name='other', {DECODED})",
        "TypeError: `{module}:FORMAT` calls itself `other`",
        id="name",
    ),
    pytest.param(
        f"{FORMAT}FORMAT = Format(name='broken', source_options=())",
        "ValueError: format `broken` declares what needs a decoder, and has none",
        id="incomplete",
    ),
]


@pytest.mark.parametrize(("source", "why"), BROKEN)
def test_a_broken_package_is_named_and_breaks_nothing_else(
    bring: Bring, source: str, why: str, request: pytest.FixtureRequest
) -> None:
    module = f"third_broken_{request.node.callspec.id}"
    bring(module, source, formats={"broken": f"{module}:FORMAT"})
    error = refused("broken")
    assert f"error[broken_package]: format `broken` of package `{module} 1.0` cannot be" in error
    assert why.format(module=module) in error
    assert "^^^^^^^^" in error
    assert find_format("json").name == "json"
    assert "source formats are json, csv, text, parquet\n" in refused("xyz") + "\n"


def test_two_packages_with_the_same_format(bring: Bring) -> None:
    bring("third_4", "", formats={"twice": "third_4:FORMAT"})
    bring("third_5", "", formats={"twice": "third_5:FORMAT"})
    error = refused("twice")
    assert "format `twice` is brought by package `third_4 1.0` and package `third_5 1.0`" in error


def test_nobody_takes_the_place_of_what_comes_with_narrows(bring: Bring) -> None:
    bring("third_6", "1 / 0", formats={"json": "third_6:FORMAT"})
    assert FORMATS.names() == ["json", "csv", "text", "parquet", "rows"]
    assert find_format("json").kernel is not None


def test_what_is_declared_loads_nothing_that_runs() -> None:
    """The planner asks every format and connector; a worker must not load the SQL parser for it."""
    code = """
import sys
from narrows.plugins.registry import CONNECTORS, FORMATS

assert all(registry.find(name) for registry in (FORMATS, CONNECTORS) for name in registry.names())
heavy = ("pyarrow", "numpy", "simdjson", "narrows_kernel", "sqlglot", "pyspark")
print([name for name in heavy if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_worker_that_lacks_a_package_says_so() -> None:
    with pytest.raises(NarrowsError, match="no format called `elsewhere` is installed here") as e:
        find_format("elsewhere")
    assert "install the package that brings it on all machines that run tasks" in str(e.value)
