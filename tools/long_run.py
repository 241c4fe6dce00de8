"""Runs pipelines of every kind for a long time, and shows what is held and kept meanwhile.

    python tools/long_run.py [--minutes 60] [--every 1.0]

A file comes `--every` so many seconds. A line a minute: memory and open files of the driver, the
JVM and the Python workers, and what lies in the state folder (without the names of files taken,
which must be remembered). In the end what was written is compared with what is owed, and the last
quarter of the time with the second one: nothing may have grown by more than a tenth.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.all_kinds import PIPELINES, AllKinds
from support.held import held, kept
from support.processes import tree

KEEPS_LITTLE = "spark.sql.streaming.minBatchesToRetain=20"
"""What Spark keeps of the last 100 batches it keeps of 20, so that it has all of it sooner."""
Sample = dict[str, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=1.0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="narrows-long-run-"))
    pipelines = AllKinds(folder / "run")
    samples = run_for(pipelines, options.minutes * 60, options.every)
    wrong = [said for name in PIPELINES if (said := pipelines.wrong(name))]
    shutil.rmtree(folder)
    print(f"{pipelines.rows} rows", *(wrong or ["every row is there once"]), sep="\n")
    grown = compare(samples)
    return 1 if wrong or grown else 0


def run_for(pipelines: AllKinds, seconds: float, every: float) -> list[Sample]:
    """Feeds a run, looks at it once a minute, and has the rest read in the end."""
    samples: list[Sample] = []
    process = pipelines.run("--trigger", "1 second", "--conf", KEEPS_LITTLE)
    pause, began = threading.Event(), time.monotonic()
    try:
        while (now := time.monotonic() - began) < seconds:
            if process.poll() is not None or (pipelines.state / "failures").exists():
                raise SystemExit(f"a pipeline has failed, see {pipelines.folder}")
            pipelines.put()
            pause.wait(every)
            if now >= 60 * (len(samples) + 1):
                samples.append(look(pipelines, process.pid))
                print(f"{now / 60:.0f} min, {pipelines.rows} rows:", shown(samples[-1]), flush=True)
        process.terminate()
        process.wait(timeout=300)
        if code := pipelines.run_once():
            raise SystemExit(f"the last run ended with {code}: {pipelines.folder / 'log'}")
    finally:
        process.kill()
        process.wait()
    return samples


def look(pipelines: AllKinds, pid: int) -> Sample:
    there, state = tree(pid), kept(pipelines.state)
    sample = {"state files": state.files, "state KB": state.bytes >> 10}
    for name, processes in (
        ("driver", [there.driver]),
        ("JVM", there.jvm),
        ("workers", [*there.daemons, *there.workers]),
    ):
        found = held(processes)
        sample[f"{name} MB"] = found.memory >> 20
        sample[f"{name} open"] = found.descriptors
    return sample | {"workers": len(there.workers)}


def shown(sample: Sample) -> str:
    return ", ".join(f"{name} {value}" for name, value in sample.items())


def compare(samples: list[Sample]) -> list[str]:
    """Which figures are larger in the last quarter than in the second, by more than a tenth."""
    quarter = len(samples) // 4
    if not quarter:
        print("too short to compare")
        return []
    grown = []
    for name in samples[0]:
        early = median(sample[name] for sample in samples[quarter : 2 * quarter])
        late = median(sample[name] for sample in samples[-quarter:])
        print(f"{name}: {early:g} -> {late:g}")
        if late > 1.1 * early + 1:
            grown.append(name)
    print("grown:", ", ".join(grown) or "nothing")
    return grown


if __name__ == "__main__":
    sys.exit(main())
