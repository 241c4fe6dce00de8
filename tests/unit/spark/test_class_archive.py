"""Classes that are kept for the next JVM: found, adopted, swept, and done without."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from narrows.spark.run import class_archive
from narrows.spark.run.class_archive import SWITCH, archive_options, archive_path

BASE = Path("lib/server/classes.jsa")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where classes are kept, for a Java that keeps its own."""
    java = tmp_path / "java"
    (java / BASE).parent.mkdir(parents=True)
    (java / BASE).touch()
    (java / "bin").mkdir()
    (java / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(java))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(SWITCH, raising=False)
    return tmp_path / "cache" / "narrows"


def written() -> Path:
    """Where the next JVM writes its classes."""
    option, *_ = archive_options()
    name, _, path = option.partition("=")
    assert name == "-XX:ArchiveClassesAtExit"
    return Path(path)


def test_the_first_keeps_and_the_next_has(cache: Path) -> None:
    path = written()
    assert path.parent == cache
    assert cache.stat().st_mode & 0o777 == 0o700
    path.write_bytes(b"\0\0\0\0 half of it")
    assert written() != path, "it is not whole"
    path.write_bytes(b"\xa8\xab\x0b\xf0 all of it")
    option, *_ = archive_options()
    assert option == f"-XX:SharedArchiveFile={archive_path()}"
    assert [p.name for p in cache.iterdir()] == [Path(option.partition("=")[2]).name]


def test_another_java_and_another_class_path_have_their_own(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {archive_path(), archive_path("/jars/mine.jar")}
    os.utime(Path(os.environ["JAVA_HOME"]) / BASE, (0, 0))
    found.add(archive_path())
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    found.add(archive_path())
    assert len(found) == 4


def test_what_nobody_uses_goes(cache: Path) -> None:
    cache.mkdir(parents=True)
    now = time.time()
    ages = {"spark-1.jsa": 31, "spark-2.jsa": 29, "spark-1.ab.writing": 2, "spark-2.ab.writing": 0}
    for name, days in ages.items():
        (cache / name).write_bytes(bytes(8))
        os.utime(cache / name, (now - days * 86_400 - 60,) * 2)
    (cache / "kafka-4.3.1").mkdir()
    archive_options()
    assert sorted(os.listdir(cache)) == ["kafka-4.3.1", "spark-2.ab.writing", "spark-2.jsa"]


@pytest.mark.parametrize("why", ["off", "no java", "no classes of its own", "spaces", "no room"])
def test_spark_starts_without(cache: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    if why == "off":
        monkeypatch.setenv(SWITCH, "off")
    elif why == "no java":
        monkeypatch.setattr(class_archive, "find_java", lambda: None)
    elif why == "no classes of its own":
        (Path(os.environ["JAVA_HOME"]) / BASE).unlink()
    elif why == "spaces":
        monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "a b"))
    else:
        cache.parent.write_text("a file")
    assert archive_options() == ()
