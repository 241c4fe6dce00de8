"""Asks a service whatever its OpenAPI allows and what it does not, for as long as you like.

    python tools/fuzz_service.py [EXAMPLES] [SEED] [--spark]

So many good and as many bad requests for each operation, 200 unless told; with `--spark` on a real
session, where pipelines start and queries run. It ends with the first answer that is a 500, comes
too late or is not as described, and says how to ask for it again.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.planner.catalog import Catalog
from narrows.spark.run.embedded import embedded_session
from narrows.spark.session import Session
from narrows.state.folder import StateFolder
from support.fake_session import fake_sessions
from support.service import served
from support.service_fuzz import fuzz


def main() -> None:
    numbers = [int(word) for word in sys.argv[1:] if word != "--spark"]
    examples, number = [*numbers, *(200, 17)[len(numbers) :]]
    with tempfile.TemporaryDirectory(prefix="narrows-fuzz-") as place:
        folder = Path(place)
        for name in ("in", "t"):
            (folder / name).mkdir()
            rows = (json.dumps({"a": a, "b": {"c": a}, "name": "x"}) for a in range(10))
            (folder / name / "0.json").write_text("\n".join([*rows, "{bad"]), "utf-8")
        opens = _real if "--spark" in sys.argv else fake_sessions()[0]
        began = time.monotonic()
        with served(folder / "state", opens, allowed=[folder]) as api:
            done = fuzz(api, str(folder), examples, number)
        seconds = time.monotonic() - began
        print(f"{done.operations} operations, {done.requests} requests, {seconds:.0f} s: all well")


def _real(state: StateFolder, catalog: Catalog) -> Session:
    spark = embedded_session(None, {}, state.path / "spark.log")
    return Session(spark, state=state, pruning=True, catalog=catalog, owns_spark=True)


if __name__ == "__main__":
    main()
