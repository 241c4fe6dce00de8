"""`narrows explain` and `narrows validate`: what they print, and how they fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from narrows import __version__
from narrows.cli.main import app
from narrows.cli.progress import megabytes
from narrows.formats.kernel import chosen_kernel
from support.golden import CATALOG

EXAMPLE = Path(__file__).parents[2] / "examples" / "vehicles.sql"
QUERY = "SELECT a, b->items[0]->x FROM stream_4"


def _run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def _good(*args: str | Path) -> str:
    result = _run(*args)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def _bad(*args: str | Path) -> str:
    """What is told of an error: on stderr, without a traceback, with exit code 1."""
    result = _run(*args)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


# --- explain --------------------------------------------------------------------------------------


def test_explain_a_query() -> None:
    output = _good("explain", CATALOG, QUERY)
    assert output.startswith("Logical Plan\n")
    assert "\nPhysical Plan\n" in output
    assert "schema=[a, b{items[0][struct{x}]}], decodes=2 of 4 leaves" in output


def test_explain_every_pipeline() -> None:
    output = _good("explain", EXAMPLE)
    names = [line.split()[1] for line in output.splitlines() if line.startswith("Pipeline ")]
    assert names == ["low_pressure", "battery_health", "traffic"]


@pytest.mark.parametrize(
    ("mode", "title"),
    [
        ("default", "Logical Plan"),
        ("logical", "Logical Plan"),
        ("physical", "Physical Plan"),
        ("verbose", "Logical Plan, as bound"),
    ],
)
def test_modes(mode: str, title: str) -> None:
    assert _good("explain", CATALOG, QUERY, "--mode", mode).splitlines()[0] == title


def test_json() -> None:
    plan = json.loads(_good("explain", CATALOG, QUERY, "--format", "json"))
    assert set(plan) == {"logical", "physical", "notices"}
    assert plan["logical"]["operator"] == "Project"


def test_json_of_every_pipeline_is_one_document() -> None:
    plans = json.loads(_good("explain", EXAMPLE, "--format", "json"))
    assert list(plans) == ["low_pressure", "battery_health", "traffic"]
    assert all(plan["logical"]["operator"] == "DataSink" for plan in plans.values())


def test_json_with_an_odd_name(tmp_path: Path) -> None:
    file = tmp_path / "odd.sql"
    file.write_text(
        "CREATE STREAM s (a INT) WITH (connector = 'file', path = 'p');"
        "CREATE SINK o WITH (connector = 'console');"
        'CREATE PIPELINE `a "quoted\\name"` INTO o AS SELECT a FROM s',
        "utf-8",
    )
    assert list(json.loads(_good("explain", file, "--format", "json"))) == ['a "quoted\\name"']


def test_mermaid() -> None:
    assert _good("explain", CATALOG, QUERY, "--format", "mermaid").startswith("flowchart TD\n")


def test_without_pruning() -> None:
    assert "decodes=4 of 4 leaves" in _good("explain", CATALOG, QUERY, "--no-pruning")


def test_a_query_may_end_in_a_semicolon() -> None:
    assert _good("explain", CATALOG, f"{QUERY};") == _good("explain", CATALOG, QUERY)


# --- validate -------------------------------------------------------------------------------------


def test_validate() -> None:
    expected = f"{EXAMPLE}: ok, 1 stream, 1 table, 2 sinks, 3 pipelines\n"
    assert _good("validate", EXAMPLE) == expected


def test_validate_an_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "empty.sql"
    file.write_text("-- nothing\n", "utf-8")
    assert _good("validate", file) == f"{file}: ok, nothing declared\n"


def test_version() -> None:
    assert _good("version") == f"narrows {__version__}, {chosen_kernel()} kernel\n"


# --- errors ---------------------------------------------------------------------------------------


def test_an_unknown_column() -> None:
    told = _bad("explain", CATALOG, "SELECT zz FROM stream_4")
    assert told.splitlines()[0] == "error[unknown_column]: column `zz` not found in `stream_4`"
    assert "1 | SELECT zz FROM stream_4\n  |        ^^\n" in told


def test_several_problems_are_told_together() -> None:
    told = _bad("explain", CATALOG, "SELECT yy, zz FROM stream_4")
    assert told.count("error[unknown_column]") == 2


@pytest.mark.parametrize("command", ["explain", "validate"])
def test_a_faulty_file(command: str, tmp_path: Path) -> None:
    file = tmp_path / "faulty.sql"
    file.write_text("\nCREATE STREAM s (a BIGNIT);\n", "utf-8")
    told = _bad(command, file)
    assert told.splitlines()[0] == "error[unknown_type]: unknown type `BIGNIT`"
    assert f"--> {file}:2:20" in told
    assert "did you mean `BIGINT`?" in told


@pytest.mark.parametrize("command", ["explain", "validate"])
def test_a_missing_file(command: str, tmp_path: Path) -> None:
    told = _bad(command, tmp_path / "missing.sql")
    assert told.startswith("error[unreadable_file]: cannot read ")
    assert told.count("\n") == 1


def test_a_query_that_is_none() -> None:
    for query in (
        "",
        "SHOW STREAMS",
        "SELECT a FROM",
        "SELECT 1 FROM stream_4; SELECT 2 FROM stream_4",
    ):
        assert _bad("explain", CATALOG, query).startswith("error[syntax_error]: ")


def test_no_pipelines_and_no_query() -> None:
    result = _run("explain", CATALOG)
    assert result.exit_code != 0
    assert "no pipelines" in result.stderr
    assert "Traceback" not in result.stderr


def test_an_unknown_format() -> None:
    result = _run("explain", CATALOG, QUERY, "--format", "yaml")
    assert result.exit_code == 2
    assert "yaml" in result.stderr


def test_debug_shows_the_traceback() -> None:
    result = _run("explain", CATALOG, "SELECT zz FROM stream_4", "--debug")
    assert result.exit_code == 1
    assert type(result.exception).__name__ == "NarrowsError"


def test_no_arguments_show_help() -> None:
    result = _run()
    assert "explain" in result.output
    assert "validate" in result.output


def test_reset_and_dead_letters_of_what_never_ran(tmp_path: Path) -> None:
    """A name that is wrong is said so, and changes nothing."""
    state = ["--state", str(tmp_path / "state")]
    reset = CliRunner().invoke(app, ["reset", "nosuch", *state])
    assert reset.exit_code == 1
    assert "no pipeline `nosuch` has run" in reset.output
    letters = CliRunner().invoke(app, ["dead-letters", "nosuch", *state])
    assert letters.exit_code == 0
    assert "has no dead letters of `nosuch`" in letters.output
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (734, "734 B"), (1_234, "1.2 kB"), (56_789, "56.8 kB"), (2.5e9, "2,500.0 MB")],
)
def test_little_that_was_read_is_not_shown_as_nothing(count: float, text: str) -> None:
    assert megabytes(count) == text
