"""Who may ask, from where, and what statements may name."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.errors import NarrowsError
from narrows.service.security import check_listening
from support.service import served


def test_elsewhere_than_here_only_with_a_token() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        check_listening(host, None)
    check_listening("0.0.0.0", "token")
    for host in ("0.0.0.0", "::", "example.org"):
        with pytest.raises(NarrowsError, match="there is no token"):
            check_listening(host, None)


def test_with_a_token_nobody_else_is_told_anything(tmp_path: Path) -> None:
    with served(tmp_path, token="right") as api:
        for path in ("/pipelines", "/metrics", "/openapi.json", "/export", "/nothing"):
            assert api.get(path).status == 401
            assert api.get(path, authorization="Bearer wrong").status == 401
        assert api.get("/pipelines", authorization="Bearer right").status == 200
        assert [api.get(path).status for path in ("/health", "/")] == [200, 200]
        assert (
            api.get("/pipelines", host="a.name.of.ours", authorization="Bearer right").status == 200
        )


def test_pages_of_other_sites_may_not_ask(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        assert api.get("/pipelines", origin="http://evil.example").status == 403
        assert api.get("/pipelines", origin=api.url).status == 200
        rebound = api.get("/pipelines", host="evil.example")
        assert (rebound.status, rebound.json()["code"]) == (403, "forbidden")
        assert "access-control-allow-origin" not in api.get("/pipelines", origin=api.url).headers


def test_passwords_are_references(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        sql = "CREATE SINK k WITH (connector = 'memory', password = 'hunter2')"
        answer = api.sql(sql)
        assert answer.status == 400
        assert "hunter2" not in answer.text
        assert "${NAME}" in answer.json()["problems"][0]["hint"]
        assert api.sql(sql.replace("'hunter2'", "12345")).status == 400
        assert "hunter2" not in api.get("/export").text


def test_paths_are_held_to_the_allowed_folders(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    (allowed / "in").mkdir(parents=True)
    (allowed / "link").symlink_to("/etc")
    with served(tmp_path / "state", allowed=[allowed]) as api:

        def status(path: object) -> int:
            return api.sql(
                f"CREATE OR REPLACE STREAM s (a INT) WITH (connector = 'file', path = '{path}')"
            ).status

        for path in (allowed, allowed / "in", allowed / "in/*.json", allowed / "../allowed/x"):
            assert status(path) == 200
        for outside in (
            "/etc",
            tmp_path,
            tmp_path / "allowed2",
            allowed / "../x",
            allowed / "link/passwd",
            allowed / "*/../../x",
            "/*",
        ):
            assert status(outside) == 400, outside
        sink = f"CREATE SINK k WITH (connector = 'file', path = '{tmp_path}/out')"
        assert api.sql(sink).status == 400


def test_no_query_calls_java(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        for function in ("reflect", "JAVA_METHOD", "try_reflect"):
            sql = f"SELECT {function}('java.lang.System', 'exit', 1)"
            for path in ("/explain", "/queries", "/statements"):
                assert api.post(path, {"sql": sql}).json()["code"] == "unknown_function"


def test_a_request_has_bounds(tmp_path: Path) -> None:
    with served(tmp_path) as api:
        assert api.post("/statements", {"sql": " " * (9 << 20)}).status == 422
        assert api.get("/health", **{"content-length": str(1 << 40)}).status == 413
