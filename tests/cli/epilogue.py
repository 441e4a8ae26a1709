#!/usr/bin/env python3
"""A function that follows sums, from the shipped example through every executor and target of this machine.
Over NCCL: tests/nccl/emit.py.

Usage: epilogue.py CHORALE MPICXX EXAMPLES FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import json
import pathlib
import re
import shutil
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.merged import merged, merged_directories  # noqa: E402
from kit.program import mpirun, refused, run, work  # noqa: E402

chorale, mpicxx, examples = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
flags = pathlib.Path(sys.argv[4]).resolve()
example = str(examples / "epilogue.json")
# Its operands may be called as macros of headers are.
macros = json.loads(pathlib.Path(example).read_text().replace('"bias"', '"errno"').replace("bias", "errno").replace("mask", "NULL"))
(work / "macros.json").write_text(json.dumps(macros))


def rows_right(text):
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert rows and all(row[-1] == "0" for row in rows), text


results = {}
for name, command in {
        "ring": ["classic", "ring_allreduce", "ring:3"],
        "scatter": ["classic", "ring_reducescatter", "ring:4"],
        "found": ["frontier", "ring:4", "allreduce", "--max-chunks", "2"],
        "root": ["frontier", "star:4", "reduce", "--max-chunks", "1"]}.items():
    run(chorale, *command, "--json", f"{name}.json")
    results[name] = f"{name}.json"

# Executors: apart and in place, several types, averages.
for name, result in results.items():
    ranks = 3 if name == "ring" else 4
    for in_place in [], ["--in-place"]:
        for transport in ("threads", "kernel", "mpi"):
            start = ["mpirun", "--oversubscribe", "-n", ranks] if transport == "mpi" else []
            text = run(*start, chorale, "run", result, "--transport", transport, "--epilogue", example, "--bytes", "4,4000",
                       "--type", "all" if transport == "kernel" else "float", "--op", "sum", "--iterations", "1", *in_place)
            assert "every element is right" in text and "followed" in text, text
    text = run(chorale, "run", result, "--epilogue", example, "--bytes", "36", "--op", "avg", "--iterations", "1", "--type", "half",
               "--accumulate", "float32")
    assert "every element is right" in text, text

# Targets.
programs = []
for name in ("ring", "scatter", "found", "root"):
    out = work / f"{name}_out"
    text = run(chorale, "emit", results[name], "--target", "mpi", "--epilogue", "macros.json", "-o", out)
    assert re.search("completed by", text), text
    text = sorted(out.glob("*.cpp"))[-1].read_text()
    table = text[text.index("kWork[]"):]
    place = re.search(r"(\{\d+, \d+, 1, (?:\d+, ){6})3\},", table)
    programs += [text, text.replace(place[0], place[1] + "0},", 1)]  # a sum that has not had its function
(work / "all.cpp").write_text(merged(programs))
run(mpicxx, f"@{flags}/quick17", "-Wall", "-Wextra", "-Werror", "all.cpp", "-o", "all")
for number, text in enumerate(programs):
    ranks, is_changed = re.search(r"kRanks = (\d+)", text)[1], number % 2 == 1
    for elements in (1001,) if is_changed else (0, 1, 1001):
        assert re.search(r" [1-9]\d* wrong" if is_changed else " 0 wrong", mpirun(ranks, "./all", number, elements, 2, code=int(is_changed)))
cases = []
for name in ("ring", "scatter"):
    out = work / f"{name}_cuda"
    run(chorale, "emit", results[name], "--target", "cuda", "--epilogue", example, "-o", out)
    directory, changed = sorted(out.iterdir())[-1], work / f"{name}_changed"
    cases += [(directory, macros, "virtual_ranks.cu") for macros in ([], ["IN_PLACE"], ["ELEMENT=chorale::Float16", "WIDEN"])]
    shutil.copytree(directory, changed)
    text = (directory / "out_of_place.h").read_text()
    (changed / "out_of_place.h").write_text(re.sub(r"(\{0, \d+, \d+, \d+, 2, .*), \d+\},", r"\1, -1},", text, count=1))
    assert (changed / "out_of_place.h").read_text() != text
    cases.append((changed, [], "virtual_ranks.cu"))
(work / "cuda.cpp").write_text(merged_directories(cases))
run("g++", f"@{flags}/quick20", "-Wall", "-Wextra", "-Werror", f"-I{cases[0][0]}", "cuda.cpp", "-o", "cuda")
for number in range(len(cases)):
    if number % 4 == 3:
        run("./cuda", number, "-b", "4K", "-e", "4K", code=1)
    else:
        rows_right(run("./cuda", number, "-b", "1", "-e", "100K", "-f", "37", "-n", "3", "-s", "2", "-g", "8K"))
run(chorale, "emit", results["scatter"], "--target", "json", "--epilogue", example, "-o", "json")
program = next((work / "json").iterdir())
text = run(chorale, "program", program, "--bytes", "4,4000")
assert len(re.findall(r" 0$", text, re.M)) == 2, text
assert json.loads(program.read_text())["epilogue"] == "Select(mask < 1, 0, (x + bias) * scale)"
run(chorale, "emit", results["scatter"], "--target", "dot", "--epilogue", "-o", "dot")

# Who cannot.
for target in ("msccl-xml", "mscclpp"):
    refused("emit", results["ring"], "--target", target, "--epilogue", example, says="has no operation that applies a function to a sum")
refused("emit", results["ring"], "--target", "mpi", "--epilogue", says="prints the function")
refused("emit", results["ring"], "--target", "html", "--epilogue", example, says="it is for targets that are programs")
run(chorale, "frontier", "ring:3", "allgather", "--max-chunks", "1", "--json", "gather.json")
refused("run", "gather.json", "--epilogue", example, says="no sums")
(work / "bad.json").write_text('{"epilogue": "x + bias", "operands": []}')
refused("run", results["ring"], "--epilogue", "bad.json", says="bad.json, expression:1:5: 'bias' is not an operand")
refused("run", results["ring"], "--epilogue", "absent.json", says="cannot")

print("the function of examples/epilogue.json: threads, kernel, MPI; mpi, cuda, json; 0 wrong, changed ones noticed")
