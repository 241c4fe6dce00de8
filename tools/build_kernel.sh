#!/bin/sh
# Builds the native kernel into a virtual environment where that can be done; says in one line when
# not. Never fails: without it everything works, with the portable kernel.
#
#     tools/build_kernel.sh .venv
cd "$(dirname "$0")/.." || exit 0
venv=$(cd "$1" && pwd)

give_up() {
    # A kernel of older sources must not decode for newer ones.
    "$venv/bin/python" -m pip uninstall --quiet --yes narrows-kernel 2>/dev/null
    echo "native kernel not built: $1; using the portable one"
    exit 0
}

command -v cargo >/dev/null || give_up "there is no cargo"
log=$venv/kernel.log
VIRTUAL_ENV=$venv CARGO_NET_RETRY=1 "$venv/bin/maturin" develop --release --locked --quiet \
    --manifest-path kernel/Cargo.toml >"$log" 2>&1 || give_up "see $log"
touch "$venv/.kernel"
echo "native kernel built"
