#!/bin/sh
# Runs all tests: those that need no Spark, and those of the kernel's sources, beside those that do,
# file by file on two Sparks, each of which leaves half of two cores idle; long files go first
# (`tests/spark/conftest.py`). What the others have to say is shown at the end. All of them start JVMs
# by the dozen, so the classes of Spark are kept for these first.
#
#     tools/run_tests.sh .venv/bin/python
cd "$(dirname "$0")/.." || exit 1
# The page is tested in a real browser; where there is none, those tests are skipped, and we say so.
no_browser=
if ! { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null; then
    no_browser="THE PAGE WAS NOT TESTED: there is no chromium"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get install -qq -y chromium || { apt-get update -qq && apt-get install -qq -y chromium; }; } \
            >/dev/null 2>&1 && no_browser=
    fi
fi
"$1" tools/keep_classes.py
said=$(mktemp)
kernel_said=$(mktemp)
# Ctrl-C does not reach what runs in the background.
trap 'kill "$others" "$kernel" 2>/dev/null; rm -f "$said" "$kernel_said"' EXIT
trap 'exit 130' INT TERM
"$1" -m pytest --ignore=tests/spark >"$said" 2>&1 &
others=$!
tools/check_kernel.sh test >"$kernel_said" 2>&1 &
kernel=$!
"$1" -m pytest tests/spark -n 2 --dist loadfile --no-loadscope-reorder --durations=20
spark=$?
wait $others
status=$?
wait $kernel
kernel_status=$?
cat "$said" "$kernel_said"
[ -z "$no_browser" ] || echo "$no_browser"
[ $spark -eq 0 ] && [ $status -eq 0 ] && [ $kernel_status -eq 0 ]
