#!/bin/sh
# The checks of the native kernel's own sources, in the folder that maturin builds into. Where they
# cannot be run, one line says why and nothing fails: Narrows works without Rust.
#
#     tools/check_kernel.sh lint|test
cd "$(dirname "$0")/../kernel" || exit 1

leave_out() {
    echo "native kernel not checked ($what): $1"
    exit 0
}

what=$1
command -v cargo >/dev/null || leave_out "there is no cargo"
host=$(rustc -vV | sed -n 's/^host: //p')
if ! said=$(cargo fetch --locked --quiet --target "$host" 2>&1); then
    case $said in
        *"failed to download"* | *"offline mode"*) leave_out "its dependencies cannot be fetched" ;;
    esac
    echo "$said" >&2
    exit 1
fi

case $what in
    lint)
        cargo fmt --version >/dev/null 2>&1 || leave_out "there is no rustfmt"
        cargo clippy --version >/dev/null 2>&1 || leave_out "there is no clippy"
        # The benchmark and the fuzzer need crates that nothing else does: they are only looked at.
        for crate in . bench fuzz; do
            (cd "$crate" && cargo fmt --check) || exit 1
        done
        cargo clippy --locked --quiet --all-targets -- -D warnings
        ;;
    test)
        # Without the Python module, which can only be linked where libpython is: Python tests it.
        exec cargo test --locked --quiet --no-default-features
        ;;
    *)
        echo "usage: $0 lint|test" >&2
        exit 2
        ;;
esac
