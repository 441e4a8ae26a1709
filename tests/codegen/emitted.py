#!/usr/bin/env python3
"""Tests that compile what is emitted, with one compilation for many of them: to compile a program is mostly to
read the headers and to instantiate what all of them use.

Each test is a process of its own, a few at a time. Where it wants a program compiled it asks here and waits,
while others go on (compiled() in emitted_workload.h). When all wait, those with the same compiler and flags are
compiled as one source, a dozen at a time, each in a namespace of its own and with a main() of its own, and equal
ones once. If that fails, each is compiled by itself, so that the right test fails.

Usage: emitted.py TEST_PROGRAM FILTER [--jobs N]    (FILTER: googletest's)
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import selectors
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import work  # noqa: E402

AT_ONCE = 12  # of which the compiler takes 0.6 GB
OWN_NAMES = ("main", "w", "Workload")  # of a program, which another one of the same source has as well


class Test:
    """One, by its name; it runs from its start, or from an answer, to a question or its end."""

    def __init__(self, program, name, number):
        self.program, self.name, self.said = program, name, work / f"said_{number}"
        self.process = None

    def go_on(self):
        if self.process:
            os.write(self.answer, b"1" if self.failed else b"0")
            return
        self.asked, ask = os.pipe()
        answered, self.answer = os.pipe()
        with self.said.open("w") as said:
            self.process = subprocess.Popen([self.program, f"--gtest_filter={self.name}"], stdout=said, stderr=subprocess.STDOUT, pass_fds=(ask, answered),
                                            env={**os.environ, "CHORALE_EMITTED_PIPES": f"{ask},{answered}"})
        os.close(ask)
        os.close(answered)

    def question(self):
        """Whether it asks, rather than ends."""
        line = os.read(self.asked, 1 << 16).decode()
        if line:
            folder, self.compiler = line.rstrip("\n").split("\t")
            self.folder = pathlib.Path(folder)
        return bool(line)


def compile_one(test):
    done = subprocess.run(f"{test.compiler} -I. w_main.cpp -o w", shell=True, cwd=test.folder, capture_output=True, text=True)
    (test.folder / "compiler.txt").write_text(done.stdout + done.stderr)
    test.failed = done.returncode != 0


def compile_together(number, tests):
    """tests: lists of those whose programs are equal."""
    folder = work / f"batch_{number}"
    folder.mkdir()
    source, calls = "#include <cstdlib>\n", ""
    for k, (test, *_) in enumerate(tests):
        source += "".join(f"#define {name} {name}_{k}\n" for name in OWN_NAMES) + f'#include "{test.folder}/w_main.cpp"\n'
        source += "".join(f"#undef {name}\n" for name in OWN_NAMES)
        calls += f"    case {k}: return main_{k}(argc - 1, argv + 1);\n"
    source += f"int main(int argc, char** argv) {{\n  switch (std::atoi(argv[1])) {{\n{calls}  }}\n  return argc;\n}}\n"
    (folder / "all.cpp").write_text(source)
    first = tests[0][0]
    done = subprocess.run(f"{first.compiler} -I{first.folder} all.cpp -o all", shell=True, cwd=folder, capture_output=True, text=True)
    for k, equal in enumerate(tests):
        for test in equal:
            if done.returncode != 0:
                compile_one(test)
                continue
            test.failed = False
            (test.folder / "w").write_text(f'#!/bin/sh\nexec {folder}/all {k} "$@"\n')
            (test.folder / "w").chmod(0o755)
    if done.returncode != 0:
        print(f"{first.name} and others are not compiled together:\n{done.stderr[:3000]}")
    return done.returncode == 0


def compile_all(tests, pool, batches):
    """Whether all could be compiled together."""
    programs = collections.defaultdict(lambda: collections.defaultdict(list))
    for test in tests:
        text = "".join((test.folder / name).read_text() for name in ("w.h", "w_main.cpp"))
        programs[test.compiler][text].append(test)
    made = []
    for equal in programs.values():
        equal = list(equal.values())
        parts = -(-len(equal) // AT_ONCE)
        for part in range(parts):
            made.append(pool.submit(compile_together, len(batches), equal[part::parts]))
            batches.append(len(equal[part::parts]))
    return all([each.result() for each in made])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("filter")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    listed = subprocess.run([options.program, "--gtest_list_tests", f"--gtest_filter={options.filter}"], capture_output=True, text=True, check=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        name = line.split("#")[0].rstrip()
        if not line.startswith(" "):
            suite = name
        elif suite.endswith("."):
            names.append(suite + name.strip())
    assert names, listed
    ready = [Test(options.program, name, number) for number, name in enumerate(names)]
    running, waiting, failed, batches, together = 0, [], [], [], True
    asked = selectors.DefaultSelector()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        while running or ready or waiting:
            if not running and not ready:
                together &= compile_all(waiting, pool, batches)
                ready, waiting = waiting, []
            while ready and running < options.jobs:
                test = ready.pop(0)
                test.go_on()
                asked.register(test.asked, selectors.EVENT_READ, test)
                running += 1
            for key, _ in asked.select():
                test = key.data
                asked.unregister(test.asked)
                running -= 1
                if test.question():
                    waiting.append(test)
                elif test.process.wait() != 0:
                    failed.append(test)
                    print(test.said.read_text())
    print(f"{len(names)} tests, {sum(batches)} programs in {len(batches)} compilations; {len(failed)} failed {' '.join(test.name for test in failed)}")
    return 1 if failed or not together else 0


if __name__ == "__main__":
    sys.exit(main())
