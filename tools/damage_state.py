"""Damages a state folder file by file, in every way, and looks at what the next run says.

    python tools/damage_state.py [part of a file's name]

Every line is one case: the file goes on as it should (`healed`), is named in an error (`told`), or
is a bug (`WRONG`). The suite runs a part of it (`tests/spark/test_damaged_state.py`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from narrows.spark.run.embedded import embedded_session
from support.damage import DAMAGES
from support.damaged_state import StateUnderTest, check_case


def main(wanted: str) -> int:
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        settings = {"spark.sql.shuffle.partitions": "1"}
        spark = embedded_session("local[2]", settings, Path(folder) / "spark.log")
        under_test = StateUnderTest(spark, Path(folder))
        for name in under_test.kinds():
            if wanted not in name:
                continue
            for way, damage in DAMAGES.items():
                said = check_case(under_test, name, damage).replace(folder, "")
                wrong += said.startswith("WRONG")
                print(f"{name} {way}: {said}", flush=True)
        spark.stop()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else ""))
