#!/usr/bin/env python3
"""The random tests of tests/ with new seeds, for as long as is asked. ctest does a few cases of each, always
the same.

Usage: long.py [NAME...] [--minutes M] [--seed S] [--build DIR] [--log FILE]

Each NAME (without one: all) is done in rounds, a seed each, the one with the least time first. What fails is
printed with the command that does it again. Exit code 1: something failed.
"""
import argparse
import pathlib
import shlex
import subprocess
import sys
import time

root = pathlib.Path(__file__).resolve().parents[1]
# A round of each; {seed} is the round's.
TESTS = {
    "property": "{root}/tests/property/suite.py --build {build} --cases 200 --seed {seed}",
    "makers": "{build}/tests/test_property --first={seed}000",
    "imports": "{build}/tests/test_topology --gtest_filter=ImportDamage.* --gtest_shuffle --gtest_random_seed={seed} --gtest_repeat=20",
    "workloads": "{build}/tests/preserve 2000 {seed}",
    "emitted": "{build}/tests/emit_random 100 {seed}",
    "emitted_mpi": "{build}/tests/emit_random 100 {seed} 1 mpi",
    "emitted_cuda": "{build}/tests/emit_random 100 {seed} 1 cuda",
    "emitted_nccl": "{build}/tests/emit_random 100 {seed} 1 nccl",
    "replicas": "{build}/tests/replicas 50 {seed}",
    "fields": "{root}/tests/property/suite.py every_field --build {build} --cases 24 --seed {seed} --full",
    "libraries": "{root}/tests/cli/library.py {build}/bin/chorale {seed}",
    "damaged_files": "{root}/tests/property/suite.py damaged_files --build {build} --cases 1 --seed {seed} --rounds 40",
    "forged_libraries": "{root}/tests/property/suite.py forged_libraries --build {build} --cases 1 --seed {seed} --rounds 20",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TESTS))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1000, help="of the first round; up to 99999")
    parser.add_argument("--build", type=pathlib.Path, default=root / "build" / "release")
    parser.add_argument("--log", type=pathlib.Path, help="also written here")
    options = parser.parse_args()
    if unknown := set(options.names) - set(TESTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(TESTS)}")
    log = open(options.log, "a") if options.log else None

    def say(line):
        for file in filter(None, (sys.stdout, log)):
            print(line, file=file, flush=True)

    names = options.names or list(TESTS)
    seconds, rounds, failed = (dict.fromkeys(names, 0) for _ in range(3))
    end = time.monotonic() + 60 * options.minutes
    while time.monotonic() < end:
        name = min(names, key=seconds.get)
        command = shlex.split(TESTS[name].format(root=root, build=options.build.resolve(), seed=options.seed + rounds[name]))
        began = time.monotonic()
        done = subprocess.run([sys.executable, *command] if command[0].endswith(".py") else command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace")
        seconds[name] += time.monotonic() - began
        rounds[name] += 1
        text = done.stdout.strip()
        say(f"{name}: {text.splitlines()[-1] if text else ''}")
        if done.returncode != 0:
            failed[name] += 1
            say(f"FAILED, exit code {done.returncode}: {shlex.join(command)}\n{text[-4000:]}")
    for name in names:
        say(f"{name}: {rounds[name]} rounds, {failed[name]} failed, {seconds[name]:.0f} s")
    return 1 if any(failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
