#!/usr/bin/env python3
"""Tests that compile what is emitted, with one compilation for many of them: to compile a program is mostly to
read the headers and to instantiate what all of them use.

Each test is a process of its own, a few at a time. Where it wants a program compiled it asks here (compiled() in
emitted_workload.h). All go twice: first to tell what they want compiled, when nothing is run. Programs with the
same compiler and flags are compiled as one source, twenty at a time, each in a namespace of its own and with a
main() of its own, and equal ones once. If that fails, each is compiled by itself, so that the right test fails.
What a test asks for only the second time is compiled when all others wait or have ended.

Usage: emitted.py TEST_PROGRAM FILTER [--jobs N]    (FILTER: googletest's)
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import selectors
import shutil
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import work  # noqa: E402

AT_ONCE = 20  # of which the compiler takes 1 GB
OWN_NAMES = ("main", "of_w", "Workload")  # of a program, which another one of the same source has as well


class Program:
    """What is compiled once, for all tests that want it."""

    def __init__(self, folder, compiler, number):
        self.folder, self.compiler, self.failed, self.said, self.command = work / f"program_{number}", compiler, None, "", ""
        shutil.copytree(folder, self.folder)

    def compile(self):
        done = subprocess.run(f"{self.compiler} -I. w_main.cpp -o w", shell=True, cwd=self.folder, capture_output=True, text=True)
        self.failed, self.said, self.command = done.returncode != 0, done.stdout + done.stderr, f"{self.folder}/w"

    def give(self, folder):
        (folder / "compiler.txt").write_text(self.said)
        if not self.failed:
            (folder / "w").write_text(f'#!/bin/sh\nexec {self.command} "$@"\n')
            (folder / "w").chmod(0o755)


class Test:
    """One, by its name; it runs from its start, or from an answer, to a question or its end."""

    def __init__(self, program, name, number, **environment):
        self.program, self.name, self.said, self.environment = program, name, work / f"said_{number}", environment
        self.process, self.failed = None, False

    def go_on(self):
        if self.process:
            os.write(self.answer, b"1" if self.failed else b"0")
            return
        self.asked, ask = os.pipe()
        answered, self.answer = os.pipe()
        with self.said.open("w") as said:
            self.process = subprocess.Popen([self.program, f"--gtest_filter={self.name}"], stdout=said, stderr=subprocess.STDOUT, pass_fds=(ask, answered),
                                            env={**os.environ, "CHORALE_EMITTED_PIPES": f"{ask},{answered}", **self.environment})
        os.close(ask)
        os.close(answered)

    def question(self):
        """Whether it asks, rather than ends."""
        line = os.read(self.asked, 1 << 16).decode()
        if line:
            folder, self.compiler = line.rstrip("\n").split("\t")
            self.folder = pathlib.Path(folder)
        return bool(line)

    def ended(self):
        os.close(self.asked)
        os.close(self.answer)
        return self.process.wait()


def compile_together(number, programs):
    folder = work / f"batch_{number}"
    folder.mkdir()
    source, calls = "#include <cstdlib>\n", ""
    for k, program in enumerate(programs):
        source += "".join(f"#define {name} {name}_{k}\n" for name in OWN_NAMES) + f'#include "{program.folder}/w_main.cpp"\n'
        source += "".join(f"#undef {name}\n" for name in OWN_NAMES)
        calls += f"    case {k}: return main_{k}(argc - 1, argv + 1);\n"
    source += f"int main(int argc, char** argv) {{\n  switch (std::atoi(argv[1])) {{\n{calls}  }}\n  return argc;\n}}\n"
    (folder / "all.cpp").write_text(source)
    done = subprocess.run(f"{programs[0].compiler} -I{programs[0].folder} all.cpp -o all", shell=True, cwd=folder, capture_output=True, text=True)
    for k, program in enumerate(programs):
        program.failed, program.command = False, f"{folder}/all {k}"
        if done.returncode != 0:
            program.compile()
    if done.returncode != 0:
        print(f"programs of {programs[0].compiler} are not compiled together:\n{done.stderr[:3000]}")
    return done.returncode == 0


class Programs:
    """All that were asked for."""

    def __init__(self, pool):
        self.pool, self.known, self.compilations, self.together = pool, {}, 0, True

    def of(self, test):
        key = test.compiler, "".join((test.folder / name).read_text() for name in ("w.h", "w_main.cpp"))
        if key not in self.known:
            self.known[key] = Program(test.folder, test.compiler, len(self.known))
        return self.known[key]

    def compile(self):
        """Those that are not."""
        new = collections.defaultdict(list)
        for program in self.known.values():
            if program.failed is None:
                new[program.compiler].append(program)
        made = []
        for programs in sorted(new.values(), key=len, reverse=True):
            parts = -(-len(programs) // AT_ONCE)
            for part in range(parts):
                made.append(self.pool.submit(compile_together, self.compilations, programs[part::parts]))
                self.compilations += 1
        self.together &= all([each.result() for each in made])


def run(tests, jobs, asked_for, ended):
    """All of them, so many at once. asked_for(test): whether it goes on at once; those that do not are the result."""
    ready, running, waiting = list(tests), 0, []
    asked = selectors.DefaultSelector()
    while running or ready:
        while ready and running < jobs:
            test = ready.pop(0)
            test.go_on()
            asked.register(test.asked, selectors.EVENT_READ, test)
            running += 1
        for key, _ in asked.select():
            test = key.data
            asked.unregister(test.asked)
            running -= 1
            if not test.question():
                ended(test)
            elif asked_for(test):
                ready.insert(0, test)
            else:
                waiting.append(test)
    return waiting


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
    failed = []

    def looked(test):
        programs.of(test)
        return True

    def asked_for(test):
        program = programs.of(test)
        if program.failed is None:
            return False
        program.give(test.folder)
        test.failed = program.failed
        return True

    def ended(test):
        if test.ended() != 0:
            failed.append(test)
            print(test.said.read_text())

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        programs = Programs(pool)
        run([Test(options.program, name, number, CHORALE_EMITTED_LOOK="1") for number, name in enumerate(names)], options.jobs, looked, Test.ended)
        tests = [Test(options.program, name, number) for number, name in enumerate(names)]
        while tests:
            programs.compile()
            for test in tests:
                if test.process:
                    asked_for(test)
            tests = run(tests, options.jobs, asked_for, ended)
    print(f"{len(names)} tests, {len(programs.known)} programs in {programs.compilations} compilations; "
          f"{len(failed)} failed {' '.join(test.name for test in failed)}")
    return 1 if failed or not programs.together else 0


if __name__ == "__main__":
    sys.exit(main())
