#!/usr/bin/env bash
# Sets up, builds what the tests need, with warnings as errors, and passes them; checks the format of the
# sources. The last line says how many tests were skipped, and why. Tiers are labels of tests/CMakeLists.txt.
# Usage: ./test.sh [--fast | --all | --torch]
#   --fast   unit tests and rules of the house: a minute, once they are built
#   (none)   and commands, libraries, preloaded libraries, properties on a few random inputs
#   --all    and what compiles emitted programs, installs, packages, or takes minutes
#   --torch  the tests of the current PyTorch, which it puts into build/torch (some GB, from PyPI)
set -euo pipefail
cd "$(dirname "$0")"
tier="${*:---short}"
case "$tier" in
  --fast) target=tests_fast; only=(-L fast) ;;
  --short) target=tests_short; only=(-LE '^(emitted|long|torch)$') ;;
  --all) target=all; only=() ;;
  --torch) target=all; only=(-L torch) ;;
  *) echo "usage: ./test.sh [--fast | --all | --torch]" >&2; exit 2 ;;
esac
./setup.sh --tests
if [ "$tier" = --torch ]; then
  benchmarks/torch_env.sh build/torch
  export CHORALE_TORCH_PYTHON="$PWD/build/torch/bin/python"
fi
cmake --build --preset release --target "$target"
case "$tier" in
  --short|--all) git ls-files -z '*.h' '*.cpp' | xargs -0 -n 50 -P "$(nproc)" clang-format --dry-run -Werror ;;
esac
results="$PWD/build/release/tests.xml" code=0
# One more than there are processors: many wait, for ranks or for limits.
ctest --test-dir build/release --output-on-failure -j "$(($(nproc) + 1))" --output-junit "$results" "${only[@]}" || code=$?
python3 tests/kit/skipped.py "$results"
exit "$code"
