#!/usr/bin/env python3
"""Gives every reader of files inputs that libFuzzer makes up, guided by what they cover.

Usage: fuzz.py [--inputs N | --seconds S] [--log FILE] [READER ...]

Needs the fuzz preset: cmake --preset fuzz && cmake --build --preset fuzz (clang with libFuzzer's runtime;
Debian: apt-get install clang libclang-rt-14-dev). Prints a row a reader: inputs, inputs a second, findings
(crashes, words of a sanitizer, over two minutes, over 2 GiB), the slowest input, and edges of the program
that were reached. What was found is kept in build/fuzz/findings; what reached something new in
build/fuzz/corpus, where the next run goes on. Exit code 1 if there are findings.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[1]
build = root / "build" / "fuzz"
seeds = root / "tests" / "fuzz" / "corpus"
READERS = sorted(folder.name for folder in seeds.iterdir())

parser = argparse.ArgumentParser(description="Fuzzes the readers of files.")
parser.add_argument("readers", nargs="*", default=READERS, metavar="READER", help=", ".join(READERS))
parser.add_argument("--inputs", type=int, default=1_000_000, help="of each reader (1000000)")
parser.add_argument("--seconds", type=int, help="for each reader, instead of a number of inputs")
parser.add_argument("--seed", type=int, default=1, help="of libFuzzer's mutations (1)")
parser.add_argument("--log", type=pathlib.Path, help="write the rows there, too")
options = parser.parse_args()

COLUMNS = f"{'reader':<14} {'inputs':>9} {'a second':>8} {'findings':>8} {'slowest s':>9} {'edges':>6} {'memory MiB':>10}"


def stated(text, name):
    found = re.findall(rf"stat::{name}:\s+(\d+)", text)
    return int(found[-1]) if found else 0


def run(reader):
    fuzzer = build / "fuzzers" / f"{reader}_fuzzer"
    if not fuzzer.exists():
        sys.exit(f"{fuzzer} is missing: cmake --preset fuzz && cmake --build --preset fuzz")
    corpus, findings = build / "corpus" / reader, build / "findings" / reader
    for folder in (corpus, findings):
        folder.mkdir(parents=True, exist_ok=True)
    inputs, edges, slowest, memory, found, started = 0, 0, 0, 0, 0, time.monotonic()
    # A finding ends libFuzzer; go on with another seed until there are inputs enough, or findings.
    while found < 10:
        left = options.inputs - inputs
        if options.seconds:
            left = options.seconds - int(time.monotonic() - started)
        if left <= 0:
            break
        done = subprocess.run(
            [fuzzer, corpus, seeds / reader, f"-max_total_time={left}" if options.seconds else f"-runs={left}",
             f"-seed={options.seed + found}", f"-dict={root / 'tests/fuzz/keys.dict'}", "-max_len=6000", "-timeout=120",
             "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=1", f"-artifact_prefix={findings}/"],
            capture_output=True, text=True, errors="replace", cwd=build,
            # Short stacks of allocations, little memory kept back, none given back to the system after each:
            # up to five and again two times as many inputs a second.
            env={"ASAN_OPTIONS": "malloc_context_size=4:quarantine_size_mb=16:allocator_release_to_os_interval_ms=-1", **os.environ,
                 "LSAN_OPTIONS": f"suppressions={root / 'tests/leaks.supp'}:print_suppressions=0"})
        (findings / "last.log").write_text(done.stderr)
        covered = re.findall(r"cov: (\d+)", done.stderr)
        edges = max([edges, *map(int, covered)])
        units = stated(done.stderr, "number_of_executed_units")
        executed = re.findall(r"^#(\d+)\t", done.stderr, re.M)
        inputs += units or (int(executed[-1]) if executed else 0)
        slowest = max(slowest, stated(done.stderr, "slowest_unit_time_sec"))
        memory = max(memory, stated(done.stderr, "peak_rss_mb"))
        if done.returncode == 0:
            break
        found += 1
        words = re.findall(r"^(?:finding: .*|SUMMARY: .*|ALARM: .*|.*ERROR: .*)$", done.stderr, re.M)
        print(f"  {reader}: {words[0] if words else 'exit code ' + str(done.returncode)}", flush=True)
    a_second = inputs / max(time.monotonic() - started, 1)
    return found, f"{reader:<14} {inputs:>9} {a_second:>8.0f} {found:>8} {slowest:>9} {edges:>6} {memory:>10}"


commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=root, capture_output=True, text=True).stdout.strip()
lines, findings = [f"commit {commit}", COLUMNS], 0
print("\n".join(lines), flush=True)
for reader in options.readers:
    found, row = run(reader)
    findings += found
    lines.append(row)
    print(row, flush=True)
    if options.log:
        options.log.parent.mkdir(parents=True, exist_ok=True)
        options.log.write_text("\n".join(lines) + "\n")
sys.exit(1 if findings else 0)
