#!/usr/bin/env bash
# Sets up, builds with warnings as errors, checks the format, and passes the tests.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh ci
clang-format --dry-run -Werror $(git ls-files '*.h' '*.cpp')
ctest --test-dir build/release --output-on-failure -j "$(nproc)"
