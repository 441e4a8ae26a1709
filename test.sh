#!/usr/bin/env bash
# Sets up, builds all but the benchmarks, with warnings as errors, checks the format, and passes the tests.
# The last line says how many tests were skipped, and why.
# With --torch: the tests of the current PyTorch instead, which it puts into build/torch (some GB, from PyPI).
# Usage: ./test.sh [--torch]
set -euo pipefail
cd "$(dirname "$0")"
[ $# -eq 0 ] || [ "$*" = --torch ] || { echo "usage: ./test.sh [--torch]" >&2; exit 2; }
./setup.sh --tests
only=()
if [ $# -eq 1 ]; then
  benchmarks/torch_env.sh build/torch
  export CHORALE_TORCH_PYTHON="$PWD/build/torch/bin/python"
  only=(-L torch)
fi
cmake --build --preset release
[ $# -eq 1 ] || git ls-files -z '*.h' '*.cpp' | xargs -0 -n 50 -P "$(nproc)" clang-format --dry-run -Werror
results="$PWD/build/release/tests.xml" code=0
# One more than there are processors: many wait, for ranks or for limits.
ctest --test-dir build/release --output-on-failure -j "$(($(nproc) + 1))" --output-junit "$results" "${only[@]}" || code=$?
python3 tests/kit/skipped.py "$results"
exit "$code"
