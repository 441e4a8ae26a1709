#!/usr/bin/env bash
# Sets up, builds all but the benchmarks, with warnings as errors, checks the format, and passes the tests.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh --tests
cmake --build --preset release
clang-format --dry-run -Werror $(git ls-files '*.h' '*.cpp')
# One more than there are processors: many wait, for ranks or for limits.
ctest --test-dir build/release --output-on-failure -j "$(($(nproc) + 1))"
