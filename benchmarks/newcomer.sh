#!/usr/bin/env bash
# What the README's two commands take in a fresh clone, without a compiler cache: minutes, and CPU minutes
# of all that they started. Packages that are missing are installed and counted. Usage:
# benchmarks/newcomer.sh, on a quiet machine.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "$source" "$work/chorale"
cd "$work/chorale"
unset CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(nproc) cores; commit $(git rev-parse --short HEAD); load before: $(cut -d' ' -f1 /proc/loadavg)"
failed=0
for command in ./demo.sh ./test.sh; do
  code=0
  TIMEFORMAT='%R %U %S'
  taken=$( { time "$command" >"$work/log" 2>&1; } 2>&1 ) || code=$?
  echo "$taken" | awk -v command="$command" -v code="$code" \
    '{ printf "%s: exit code %d, %.1f minutes, %.1f CPU minutes\n", command, code, $1 / 60, ($2 + $3) / 60 }'
  grep -E "^\[[0-9]+/[0-9]+\]" "$work/log" | tail -1 || true
  grep -E "tests passed|Total Test time" "$work/log" || true
  [ "$code" -eq 0 ] || { tail -20 "$work/log"; failed=1; }
done
exit "$failed"
