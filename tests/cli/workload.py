#!/usr/bin/env python3
"""Tensor programs on the command line: transformed, tuned, compiled, run over threads and MPI, and everything
wrong refused in a line.

Usage: workload.py CHORALE EXAMPLES FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import json
import os
import pathlib
import random
import re
import resource
import struct
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import refused, run, work  # noqa: E402

chorale, examples = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
QUICK = {"CXX": f"{pathlib.Path(sys.argv[3]).resolve()}/quick_cxx", "OMPI_CXX": f"{pathlib.Path(sys.argv[3]).resolve()}/quick_cxx"}
FUSED = "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v); fuse(all; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)"


# What is printed is read back as the same, for every example; and a transformed program, too.
for example in sorted(examples.glob("*.chorale")):
    text = run(chorale, "transform", example)
    (work / "again.chorale").write_text(text)
    assert run(chorale, "transform", "again.chorale") == text, example
adam = examples / "adam.chorale"
text = run(chorale, "transform", adam, "--apply", FUSED)
assert "kernel all {" in text and "Tensor m(fp32, [N], Sliced(0)) state" in text and "AllReduce" not in text, text
(work / "fused.script").write_text(FUSED.replace("; ", "\n").replace("all\n", "all; "))
run(chorale, "transform", adam, "--apply", FUSED, "-o", "fused.chorale")
assert (work / "fused.chorale").read_text() == text
assert run(chorale, "transform", "fused.chorale") == text

# A fixed order gives each element the bits of one tree, whatever the size and the collective that adds; an
# agreed one need not.
(work / "sums.chorale").write_text("""workload sums
ranks 4
size N = 24
Tensor g(fp32, [N], Local)
all = AllReduce("+", g)
part = ReduceScatter("+", g)
whole = AllGather(part)
return all, whole
""")
inputs = {rank: [random.Random(rank).gauss(0, 1) * 2.0**random.Random(99 + rank).randint(-9, 9) for _ in range(24)] for rank in range(4)}
bits = {}
for order in ("agreed", "fixed"):
    for times in (1, 5000) if order == "fixed" else (5000,):
        said = run(chorale, "compile", "sums.chorale", "--machine", "ring:4", "--order", order, "--set", f"N={24 * times}", "-o", "sums")
        assert "allreduce" in said and "reducescatter" in said, said
        run("make", "-s", "-C", "sums", "threads", f"CXX={QUICK['CXX']}")
        (work / "given").mkdir(exist_ok=True)
        (work / "got").mkdir(exist_ok=True)
        for rank, values in inputs.items():
            (work / f"given/g.{rank}").write_bytes(struct.pack("24f", *values) * times)
        said = run("sums/sums_threads", f"N={24 * times}", "--runs", str(int(order == "agreed")), "--in", "given", "--out", "got")
        assert "replicas differ" not in said, said
        for name in ("all", "whole"):
            for rank in range(4):
                got = (work / f"got/{name}.{rank}").read_bytes()
                bits.setdefault(order, set()).update(got[i:i + 96] for i in range(0, len(got), 96))
assert len(bits["fixed"]) == 1 < len(bits["agreed"]), {order: len(each) for order, each in bits.items()}
refused("compile", "sums.chorale", "--machine", "ring:4", "--order", "free", "-o", "sums", says="lets ranks end with different bits")
refused("compile", "sums.chorale", "--machine", "ring:4", "--order", "(0 1)", "-o", "sums", says="--order")
# On a ring no rank that adds is linked to all: sums are made at once by gathering alone, and the tuner goes
# without the ReduceScatter that transformations would make. A program that has one is refused, and not for
# want of time.
for command in ("tune", "compile"):
    for order in ("--sum", "--order"):
        run(chorale, command, adam, "--machine", "ring:5", "--ranks", "5", order, "once", *(["-o", "once"] if command == "compile" else []))
refused("compile", "sums.chorale", "--machine", "ring:4", "--sum", "once", "-o", "sums", says="take another order")
refused("compile", "sums.chorale", "--machine", "ring:4", "--sum", "once", "--order", "fixed", "-o", "sums", says="--order excludes --sum")
# Without a limit the effort ends a search whose proofs would take minutes.
run(chorale, "compile", adam, "--machine", "ring:5", "--ranks", "5", "--order", "by-index", "-o", "by_index",
    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (100, 100)))
# A file in another order is not taken; one along a tree decides the tree.
run(chorale, "frontier", "ring:4", "allreduce", "--order", "(((0 1) 2) 3)", "--max-chunks", "1", "--json", "chain.json")
run(chorale, "compile", "sums.chorale", "--machine", "ring:4", "--order", "fixed", "--algorithms", "chain.json", "--set", "N=24", "--max-chunks", "1", "-o", "sums")
run("make", "-s", "-C", "sums", "threads", f"CXX={QUICK['CXX']}")
for rank, values in inputs.items():
    (work / f"given/g.{rank}").write_bytes(struct.pack("24f", *values))
run("sums/sums_threads", "N=24", "--runs", "0", "--in", "given", "--out", "got")
chain = [0.0] * 24
for rank in range(4):
    values = struct.unpack("24f", struct.pack("24f", *inputs[rank]))
    chain = struct.unpack("24f", struct.pack("24f", *(a + b for a, b in zip(chain, values))))
assert all((work / f"got/{name}.{rank}").read_bytes() == struct.pack("24f", *chain) for name in ("all", "whole") for rank in range(4))

# One rank that adds up in another order has the same sums of small multiples of 1/8, and other bits where
# sums are rounded.
run(chorale, "compile", "sums.chorale", "--machine", "full:4", "--set", "N=64", "--target", "threads", "-o", "order")
source = work / "order/sums.h"
text, rows = re.subn(r"(kWork_all\[\] = \{\n(?:    \{.*\n)*?)(    \{0, 0, 1, 2, 0, .*\n)(    \{0, 0, 1, 2, 1, .*\n)", r"\1\3\2", source.read_text())
assert rows == 1
source.write_text(text)
run("make", "-s", "-C", "order", "threads", f"CXX={QUICK['CXX']}")
said = run("order/sums_threads", "--runs", "1", code=1)
assert "all: where sums are rounded, replicas differ" in said and ", and replicas differ" not in said, said

# The tuner finds that program, and reports it in JSON, too; a log saves nothing but time.
tuned = json.loads(run(chorale, "tune", adam, "--machine", "ring:4", "--set", "N=64M", "--json", "-"))
assert len(tuned["candidates"]) > 10
run(chorale, "tune", adam, "--machine", "ring:4", "--html", "tune.html")
assert '"chorale_tuning"' in (work / "tune.html").read_text()
refused("tune", adam, "--machine", "ring:4", "--html", "-", "--json", "-", says="--html")
best = run(chorale, "compile", adam, "--machine", "ring:4", "--set", "N=64M", "--tune", "-o", "best")
assert "reducescatter" in best and "allgather" in best and "allreduce" not in best, best
# A layer has too many schedules to try them all, and the result says so; the same ones each time.
layers = [json.loads(run(chorale, "tune", examples / "llama.chorale", "--machine", "full:4", "--json", "-", code=3).stdout) for _ in range(2)]
assert layers[0]["end"] == "part by part" and len(layers[0]["candidates"]) < 1500 and layers[0]["candidates"] == layers[1]["candidates"]
assert "all that the transformations lead to" in " ".join(run(chorale, "tune", adam, "--machine", "ring:4").split())

# The ranks of number 0 of two groups are no neighbours on a ring, nor on a line.
(work / "across.chorale").write_text("""workload across
ranks 2
groups 2
Tensor x(fp32, [3, 2], Local)
s = ReduceScatter("+", x, 1, GROUP)
y = AllReduce("+", s, ACROSS)
z = AllGather(y * 0.5)
return z
""")
for machine in ("ring:4", "line:4"):
    run(chorale, "tune", "across.chorale", "--machine", machine)
    run(chorale, "compile", "across.chorale", "--machine", machine, "--target", "threads", "-o", machine)
    run("make", "-s", "-C", machine, "threads", f"CXX={QUICK['CXX']}")
    assert "replicas differ" not in run(f"{machine}/across_threads", "--runs", "1")

# Plans of overlaps for kernels of others are read, and a change that breaks one is found.
run(chorale, "compile", examples / "self_attention.chorale", "--machine", "ring:4", "--target", "threads", "-o", "planned",
    "--apply", "split(sum, rs); reorder(sum; out); fuse(all; rs, s_out, out); overlap(ol; layer, all)")
reader = {"PYTHONPATH": str(examples.parent / "python")}
file = work / "planned/self_attention.json"
said = run(sys.executable, "-m", "chorale.overlap_plans", file, env=reader)
assert "ol: rs, ReduceScatter in " in said and "ol: out, AllGather" in said, said
whole = file.read_text()
plan = json.loads(whole)["overlaps"][0]["communication"]
assert plan["kind"] == "ReduceScatter" and {chunk for wait in plan["waits"] if wait["rank"] == 0 for chunk in map(tuple, wait["chunks"])} >= {
    (block, piece) for block in range(4) for piece in range(plan["pieces"])}, plan
late = max(wait["step"] for wait in plan["waits"] if wait["rank"] == 0)
for broken in (lambda plan: plan["waits"][0].update(step=late + 9), lambda plan: plan["waits"].pop(0), lambda plan: plan["messages"].reverse(),
               lambda plan: plan["messages"][0].__setitem__(2, plan["messages"][0][1]), lambda plan: plan["waits"].append(plan["waits"][0]),
               lambda plan: plan["arrivals"][0].update(rank=4), lambda plan: plan.pop("steps")):
    changed = json.loads(whole)
    broken(changed["overlaps"][0]["communication"])
    (work / "broken.json").write_text(json.dumps(changed))
    said = run(sys.executable, "-m", "chorale.overlap_plans", "broken.json", env=reader, code=2)
    assert said.count("\n") == 1 and "broken.json: " in said, said

assert "candidate limit" in run(chorale, "tune", adam, "--machine", "ring:4", "--candidates", "0", code=3)

# Measured, with threads and under mpirun, with other settings too; the log holds both, and a second run
# measures nothing.
small = ("tune", adam, "--machine", "ring:2", "--ranks", "2", "--set", "N=64K", "--measure", "1", "--runs", "1", "--log", "adam.log")
(work / "it's temporary").mkdir()
for transport, variations in (("threads", "2"), ("mpi", "1")):
    asked = (*small, "--transport", transport, "--variations", variations, "--json", "-")
    found = json.loads(run(chorale, *asked, env={**QUICK, "TMPDIR": str(work / "it's temporary")}))
    again = json.loads(run(chorale, *asked))
    assert [c.get("measurements") for c in again["candidates"]] == [c.get("measurements") for c in found["candidates"]]
    best = found["candidates"][found["ranking"][0]]
    assert transport in {m["with"] for m in best["measurements"]} and min(m["us"] for m in best["measurements"] if m["with"] == transport) == best["measured_us"], best
    assert not [c["failure"] for c in found["candidates"] if "failure" in c]
lines = [json.loads(line) for line in (work / "adam.log").read_text().splitlines()]
assert lines[0]["machine"] == "ring:2" and {line.get("with") for line in lines[1:]} == {None, "threads", "mpi"}, lines
assert len({json.dumps(line["execution"]) for line in lines[1:] if "measured_us" in line}) > 2, lines
assert not list((work / "it's temporary").iterdir())
refused("tune", adam, "--machine", "ring:2", "--ranks", "2", "--set", "N=1K", "--measure", "1", says="TMPDIR", env={"TMPDIR": "/nowhere"})
(work / "everyones").mkdir()
(work / "everyones").chmod(0o777)
for within in ("everyones", "everyones/own"):  # others may replace what is compiled and run there
    (work / within).mkdir(exist_ok=True)
    refused("tune", adam, "--machine", "ring:2", "--ranks", "2", "--set", "N=1K", "--measure", "1", says="/everyones; set TMPDIR to a directory of your own",
            env={"TMPDIR": str(work / within)})
(work / "everyones").chmod(0o1777)
said = run(chorale, "tune", *small[1:6], "--set", "N=1K", "--measure", "1", "--runs", "1", "--variations", "0", code=1,
           env={"CXX": "false", "TMPDIR": str(work / "everyones/own")})
assert said.stderr.count("does not compile") == 2, said  # so it is compiled there
refused("tune", adam, "--machine", "ring:4", "--log", "adam.log", says="adam.log:1: it is the log of another program")
(work / "broken.log").write_text((work / "adam.log").read_text() + "{\n")
refused(*small[:-1], "broken.log", says=f"broken.log:{len(lines) + 1}:")

# On a GPU: measured there unless something else is reported; threads and channels that were the fastest are
# in the Makefile. All that is to be measured is in the log, so nothing is compiled.
os.environ["NVCC"] = "true"
on_gpu = ("compile", adam, "--machine", "ring:2", "--ranks", "2", "--tune", "--measure", "1", "--variations", "0", "--log", "gpu.log")
priced = json.loads(run(chorale, "tune", *on_gpu[1:6], "--log", "gpu.log", "--json", "-"))
chosen = {priced["ranking"][0]} | {k for k, c in enumerate(priced["candidates"]) if c["script"] == ""}
with open(work / "gpu.log", "a") as log:
    for k in chosen:
        script, execution = priced["candidates"][k]["script"], priced["candidates"][k]["execution"]
        for us, more in ((100, {}), (50, {"block": 128, "channels": 4})) if script else ((200, {}),):
            print(json.dumps({"script": script, "measured_us": us, "with": "cuda", "execution": {**execution, **more}}), file=log)
assert "blocks of 128" in run(chorale, *on_gpu, "--target", "cuda", "-o", "tuned_cuda")
assert "-DCHORALE_CUDA -DCHORALE_THREADS=128 -DCHORALE_CHANNELS=4 adam_main.cpp" in (work / "tuned_cuda/Makefile").read_text()
os.environ["NVCC"] = "no_such_compiler"
refused(*on_gpu, "--target", "cuda", "-o", "tuned_cuda", says="--transport cuda: there is no nvcc here")

# Names of C's functions and headers are names like others.
for name in ("exp", "math"):
    (work / f"{name}.chorale").write_text(pathlib.Path(adam).read_text().replace("workload adam", f"workload {name}"))
    run(chorale, "compile", f"{name}.chorale", "--machine", "ring:2", "--ranks", "2", "-o", name)
    run("make", "-s", "-C", name, "threads", env=QUICK)
    run(f"{name}/{name}_threads", "N=5", "--runs", "1")

# So are names of macros: those that compilers list of what emitted programs include, the headers' guards
# among them. Every result is its tensor, twice.
listed = set()
for name, compiler in (("threads", os.environ.get("CXX", "g++")), ("mpi", "mpicxx -DCHORALE_MPI")):
    text = run(*compiler.split(), "-std=c++17", "-iquote", ".", "-dM", "-E", "math_main.cpp", cwd=work / "math")
    listed |= set(re.findall(r"#define (\w{1,60})(?![\w(])", text))
assert {"errno", "EOF", "NULL", "M_PI", "stdin"} <= listed and len(listed) > 1000
assert not [each for each in listed if each.startswith("of_")]
dice = random.Random(28)
names = ["errno", "EOF", "NULL", "M_PI", "stdin", "linux", "unix", "assert", "NAN"] + dice.sample(sorted(listed), 25)
names += dice.sample(sorted(each[:-1] for each in listed if each.endswith("_")), 5) + ["seed", "int", "s", "tensors", "of_errno", "rank_"]
names = list(dict.fromkeys(names))
inputs, sizes = names[:len(names) // 2], ["BUFSIZ", "template"]
results = dict(zip(inputs, names[len(inputs):]))
inputs = list(results)
(work / "macros.chorale").write_text(
    "\n".join(["workload INT_MAX", "ranks 2", *(f"size {each} = 6" for each in sizes),
               *(f"Tensor {each}(fp32, [{sizes[k % 2]}], Replicated)" for k, each in enumerate(inputs)),
               *(f"{y} = 2 * {x}" for x, y in results.items()), "return " + ", ".join(results.values()), ""]))
run(chorale, "compile", "macros.chorale", "--machine", "ring:2", "-o", "macros")
run("make", "-s", "-C", "macros", "threads", "mpi", "library", f"CXX={QUICK['CXX']}", env=QUICK)
for folder in ("macros/in", "macros/out"):
    (work / folder).mkdir()
for k, each in enumerate(inputs):
    for rank in range(2):
        (work / f"macros/in/{each}.{rank}").write_bytes(struct.pack("6f", *range(k, k + 6)))
for start in (["macros/INT_MAX_threads"], ["mpirun", "--oversubscribe", "-n", "2", "macros/INT_MAX_mpi"]):
    run(*start, "--runs", "0", "--in", "macros/in", "--out", "macros/out")
    for k, each in enumerate(results.values()):
        for rank in range(2):
            assert struct.unpack("6f", (work / f"macros/out/{each}.{rank}").read_bytes()) == tuple(2.0 * i for i in range(k, k + 6)), each
        (work / f"macros/out/{each}.0").unlink()

# Compiled and run: both schedules, on threads and over MPI, give the same parameters. Odd sizes, and fewer
# elements than ranks. In single precision sums of three numbers differ in the last place with their order, so
# inputs are multiples of 1/8.
results = {}
for name, script in {"plain": "", "fused": FUSED}.items():
    run(chorale, "compile", adam, "--machine", "ring:3", "--ranks", "3", "-o", name, *(["--apply", script] if script else []))
    for target in ("threads", "mpi"):
        run("make", "-s", target, cwd=work / name, env={} if name == "plain" and target == "threads" else QUICK)
    for n in (1, 2, 65537):
        for start in (["./adam_threads"], ["mpirun", "--oversubscribe", "-n", "3", "./adam_mpi"]):
            text = run(*start, f"N={n}", "--runs", "0", cwd=work / name)
            sums = dict(re.findall(r"^(\w+): (\w+)$", text, re.M))
            assert {"p", "m", "v"} <= set(sums), text
            assert results.setdefault(n, sums) == sums, f"{name}, {start}, {n} elements: {sums}, not {results[n]}"
assert "is not a size of adam" in run("./adam_threads", "M=3", code=2, cwd=work / "plain")
for wrong in ("N=-1", "N=", "N=1K", "--runs=1", "--runs", "--in", "--out", "--seed one"):
    assert run("./adam_threads", *wrong.split(), code=2, cwd=work / "plain").count("\n") == 1, wrong

# What is for one target has what that needs, and no more; make builds it.
own = {"threads": {"threads", "library"}, "mpi": {"mpi"}, "cuda": {"counters", "fused", "kernels", "gpu", "gpu_exchange", "cuda"},
       "nccl": {"counters", "fused", "kernels", "gpu", "nccl", "library"}}
for target, headers in own.items():
    run(chorale, "compile", adam, "--machine", "ring:4", "--target", target, "-o", target)
    there = {path.stem for room in ("runtime", "tensor") for path in (work / target / room).glob("*/*.h")}
    assert there & set().union(*own.values()) == headers, there
    first = re.search(r"^(\w+):", (work / target / "Makefile").read_text(), re.M)[1]
    assert first == target, first
refused("compile", adam, "--machine", "ring:4", "--target", "gpu", says="use one of threads, mpi, cuda, nccl")

# A limit that ends the search leaves what was found, reports it, and exits with 3.
text = run(chorale, "compile", adam, "--machine", "torus:4x4", "--ranks", "16", "--max-chunks", "8", "--time-limit", "1ms", "-o", "cut", code=3)
assert "cut short (time limit)" in text and (work / "cut/adam.h").exists(), text

refused("transform", "missing.chorale", says="cannot be read")
(work / "bad.chorale").write_text("workload bad\nTensor x(fp32, [3], Local)\ny = AllGather(x)\nreturn y\n")
refused("transform", "bad.chorale", says="bad.chorale:3:")
refused("transform", adam, "--apply", "split(p_, rs)", says="--apply:1:1")
refused("transform", adam, "--apply", "x", "--script", "y", says="--script")
refused("transform", adam, "--set", "N", says="--set")
refused("transform", adam, "--set", "M=3", says="M")
refused("compile", adam, "--machine", "dgx1", says="among 4 ranks")
refused("compile", adam, "--machine", "ring:4", "--measure", "2", says="--tune")
refused("compile", adam, "--machine", "nowhere", says="nowhere")
refused("tune", adam, "--machine", "ring:4", "--memory-rate", "-1", says="--memory-rate")
refused("compile", adam, "--machine", "ring:4", "-o", adam, says="is not a directory")
assert not list(work.glob("**/*.tmp*"))
print("right")
