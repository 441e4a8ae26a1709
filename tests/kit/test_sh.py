#!/usr/bin/env python3
"""The last line of test.sh, which groups skipped tests by reason: of a file as ctest writes it, and of test.sh
itself with stand-ins for what it calls. ctest's own closing line stays above it, and its exit code is kept.

Usage: test_sh.py SOURCE_DIRECTORY
"""
import pathlib
import shutil
import sys
import xml.etree.ElementTree as ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run, work  # noqa: E402
from kit.skipped import summary  # noqa: E402

source = pathlib.Path(sys.argv[1]).resolve()


def results(*tests):
    cases = "".join(f'<testcase name="{n}" status="{status}">{"<skipped/>" if status == "notrun" else ""}<system-out>{output}</system-out></testcase>'
                    for n, (status, output) in enumerate(tests))
    return f"<testsuite>{cases}</testsuite>"


def last_line(*tests):
    return summary(ElementTree.ElementTree(ElementTree.fromstring(results(*tests))))


# Of Python, of GoogleTest, of a program that says it in its own words, or says nothing.
WITHOUT_TORCH, GTEST = ("notrun", "SKIPPED: no current PyTorch (./test.sh --torch)\n"), ("notrun", "[ RUN ] A.b\nfile.cpp:3: Skipped\nroot reads all\n\n[  SKIPPED ] A.b (0 ms)\n")
assert last_line(("run", "")) == "passed 1, skipped 0"
assert last_line(("run", ""), WITHOUT_TORCH, GTEST, WITHOUT_TORCH) == "passed 1, skipped 3: 2 no current PyTorch (./test.sh --torch); 1 root reads all"
assert last_line(("fail", "SKIPPED: x"), ("notrun", "a\nthere is no nvcc\n"), ("notrun", "")) == "passed 0, failed 1, skipped 2: 1 there is no nvcc; 1 no reason given"
# Parts of tests that passed.
assert last_line(("run", "3 right; SKIPPED: no hpcc\n"), ("run", "SKIPPED in part: no protoc\nSKIPPED in part: no protoc\n")) == (
    "passed 2, skipped 0; parts of 2: 1 no hpcc; 1 no protoc")

# test.sh with programs of this test in place of all that it calls.
for name in ("test.sh", "tests/kit/skipped.py"):
    (work / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / name, work / name)
(work / "build/release").mkdir(parents=True)
(work / "tests.xml").write_text(results(("run", ""), WITHOUT_TORCH))
programs = {"setup.sh": "", "benchmarks/torch_env.sh": 'echo "made $*"', "bin/cmake": 'echo "cmake $*"', "bin/git": "", "bin/clang-format": "",
            "bin/ctest": 'echo "ctest $* $CHORALE_TORCH_PYTHON"; while [ "$1" != --output-junit ]; do shift; done; cp tests.xml "$2"; echo "100% tests passed"; exit $CODE'}
for name, text in programs.items():
    (work / name).parent.mkdir(exist_ok=True)
    (work / name).write_text(f"#!/bin/bash\n{text}\n")
    (work / name).chmod(0o755)
around = {"PATH": f"{work}/bin:/usr/bin:/bin", "CHORALE_TORCH_PYTHON": ""}
TIERS = {(): ("tests_short", "-LE ^(emitted|long|torch)$"), ("--fast",): ("tests_fast", "-L fast"), ("--all",): ("all", ""), ("--torch",): ("all", "-L torch")}
for code in (0, 8):
    for words, (target, labels) in TIERS.items():
        said = run("./test.sh", *words, code=code, env={**around, "CODE": str(code)}).stdout
        assert said.endswith("100% tests passed\npassed 1, skipped 1: 1 no current PyTorch (./test.sh --torch)\n"), said
        assert f"--target {target}\n" in said and f"tests.xml {labels}".rstrip() in said and ("-L" in said) == bool(labels), said
        assert ("made build/torch" in said) == (f"{work}/build/torch/bin/python" in said) == (words == ("--torch",)), said
for words in (["--slow"], ["--fast", "--all"]):
    assert "usage" in run("./test.sh", *words, code=2, env=around).stderr
print("test.sh is right, up to its last line")
