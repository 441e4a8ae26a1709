#!/usr/bin/env bash
# Sets up, builds all but the benchmarks, with warnings as errors, checks the format, and passes the tests.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh --tests
cmake --build --preset release
git ls-files -z '*.h' '*.cpp' | xargs -0 -n 50 -P "$(nproc)" clang-format --dry-run -Werror
# One more than there are processors: many wait, for ranks or for limits.
ctest --test-dir build/release --output-on-failure -j "$(($(nproc) + 1))"
