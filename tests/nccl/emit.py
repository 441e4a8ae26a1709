#!/usr/bin/env python3
"""The printed programs over NCCL: compiled against tests/nccl/shim, several as one (tests/kit/merged.py), and
run with a thread a rank. Changed tables must be seen.

Usage: emit.py CHORALE CXX SHIM_HEADERS SHIM_LIBRARY FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import array
import json
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.merged import merged  # noqa: E402
from kit.program import run, work  # noqa: E402
from kit.travels import differing, mixed  # noqa: E402

chorale, cxx, headers, library, ready = sys.argv[1:6]
chorale, headers, library, ready = [pathlib.Path(each).absolute() for each in (chorale, headers, library, ready)]


def compiled(source):
    made = source.with_suffix("")
    run(cxx, "-x", "c++", f"@{ready}/quick17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", headers, source, "-x", "none",
        library, f"-Wl,-rpath,{library.parent}", "-pthread", "-o", made)
    return made


def rights(output, rows):
    found = re.findall(r"(in place|out of place), mean of \d+: [\d.]+ us, (\d+) wrong, (\d+) slots with ranks that differ$", output, re.M)
    assert len(found) == rows and all(wrong == differ == "0" for _, wrong, differ in found), output


# Each rank gives its chunk to the next one: a collective of nobody's.
shift = {"collective": "shift", "chunks_per_block": 1,
         "chunks": [{"pre": [n], "post": [(n + 1) % 4], "input": 0, "output": 0} for n in range(4)]}
(work / "shift.json").write_text(json.dumps(shift))
ring, halves = ("classic", "ring_allreduce", "full:4"), ("classic", "recursive_halving_reducescatter", "full:4")
results = [(*ring, 2, []), (*halves, 2, []), ("frontier", "ring:4", "allgather", 2, []), ("frontier", "star:4", "gather", 2, []),
           ("frontier", "ring:4", "shift.json", 1, [])] + [(*each, 2, ["--epilogue", "epilogue.json"]) for each in (ring, halves)]
# What follows a sum: over tensors of several types, in whole vectors and in slices of them.
(work / "epilogue.json").write_text(json.dumps({
    "epilogue": "select(mask < 1, 0 - index, (x + bias) * scale)",
    "operands": [{"name": "bias", "type": "float32", "period": 5}, {"name": "scale", "type": "float16", "period": 1},
                 {"name": "mask", "type": "uint8", "layout": "sliced"}]}))
programs = []
for number, (command, first, second, rows, epilogue) in enumerate(results):
    more = ["--max-chunks", "2"] if command == "frontier" else []
    run(chorale, command, first, second, *more, "--json", f"{number}.json")
    run(chorale, "emit", f"{number}.json", "--target", "nccl", "-o", f"out{number}", *epilogue)
    programs.append(sorted((work / f"out{number}").iterdir())[-1])
# In 3 steps and 3/2 rounds per chunk ranks cannot agree.
run(chorale, "frontier", "ring:6", "allreduce", "--max-chunks", "2", "--allow-disagreement", "--json", "free.json")
run(chorale, "emit", "free.json", "--point", "0", "--target", "nccl", "-o", "free")
free = next((work / "free").iterdir())

# A message that lands elsewhere, one that is missing, a sum that is a copy: wrong elements. Each changes one
# number, and all of a program's are in one, which takes the one that it is told.
text = programs[0].read_text()
tables = text[text.index("StepMessage kMessages[]"):]
message = re.search(r"\{(\d+), 0, 0, (\d+), 1, (\d+), (\d+), 0, (\d+), 0, (\d+)\},\n", tables)
added = re.search(r"\{(\d+), (\d+), 1, ", tables)
changed = re.search(r"kSlots, kMessages, (\d+), ", text)
mutations = [(text, {
    "elsewhere": text.replace(message[0], message[0].replace(f", {message[4]}, 0, {message[5]}, 0, {message[6]}}}",
                                                             f", {(int(message[4]) + 1) % 4}, 0, {message[5]}, 0, {message[6]}}}"), 1),
    "missing": text.replace(changed[0], f"kSlots, kMessages, {int(changed[1]) - 1}, "),
    "copied": text.replace(added[0], f"{{{added[1]}, {added[2]}, 0, ", 1),
})]
# And of the last, which applies a function: one place where it is not applied, another index, another slice.
text = programs[-1].read_text()
place = re.search(r"(\{\d+, \d+, 1, (?:\d+, ){4})(\d+), (\d+), 3\},\n", text[text.index("StepWork kWork[]"):])
slices = re.search(r"kSlices\[\] = \{0, (\d+), ", text)
mutations.append((text, {
    "not applied": text.replace(place[0], f"{place[1]}{place[2]}, {place[3]}, 0}},\n", 1),
    "another position": text.replace(place[0], f"{place[1]}{int(place[2]) ^ 1}, {place[3]}, 3}},\n", 1),
    "another slice": text.replace(slices[0], f"kSlices[] = {{0, {int(slices[1]) - 1}, ", 1),
}))


def choosing(text, mutants):
    """The program with the numbers of the mutant that CHANGE names."""
    numbers, instead = re.split(r"(-?\d+)", text), {}
    for name, mutant in mutants.items():
        others = re.split(r"(-?\d+)", mutant)
        (at,) = [i for i, (one, other) in enumerate(zip(numbers, others, strict=True)) if one != other]
        instead.setdefault(at, []).append(f'told("{name}") ? {others[at]} : ')
    for at, choices in instead.items():
        numbers[at] = f"({''.join(choices)}{numbers[at]})"
    text = re.sub(r"constexpr (chorale::(?:StepMessage kMessages|StepWork kWork|StepTables kTables)|int kSlices)", r"const \1", "".join(numbers))
    runtime, tables = text.rsplit("}  // namespace chorale\n", 1)
    return runtime + """}  // namespace chorale
static bool told(const std::string& name) { return std::getenv("CHANGE") && std::getenv("CHANGE") == name; }
""" + tables


# Those with a function, and those without, share what comes before their tables.
mutants = [choosing(*each) for each in mutations]
together = {}  # by source: (program, number in it)
for name, some in (("plain", [*programs[:5], free]), ("applied", programs[5:])):
    file = work / f"{name}.cu"
    file.write_text(merged([each.read_text() for each in some] + [mutants[name == "applied"]]))
    program = compiled(file)
    together |= {each: (program, number) for number, each in enumerate([*some, name])}
for source, (*_, rows, _) in zip(programs, results):
    for elements, kind in [(0, "float32"), (1, "float64"), (7, "bfloat16"), (1009, "float32"), (1009, "float16"), (4096, "int8"),
                           (61, "uint64")]:
        rights(run(*together[source], elements, 2, kind), rows)

# That ranks do not agree is seen, on data whose sums are rounded.
for kind in ("float32", "bfloat16", "float64", "int32"):
    output = run(*together[free], 1009, 1, kind)
    differ = [int(number) for number in re.findall(r", 0 wrong, (\d+) slots with ranks that differ, as they may$", output, re.M)]
    assert differ and all((number > 0) == (kind != "int32") for number in differ), output

noticed = 0
for program, (_, mutants) in zip([together["plain"], together["applied"]], mutations):
    rights(run(*program, 1009, 1), 2)
    for name in mutants:
        output = run(*program, 1009, 1, code=1, env={"CHORALE_SHIM_TIMEOUT_MS": "2000", "CHANGE": name})
        assert re.search(r"[1-9]\d* wrong", output), (name, output)
        noticed += 1

# One file for all sizes, each with the algorithm that the table has for it. It is compiled alone, as it is.
run(chorale, "optimize", "full:4", "allreduce", "--sizes", "1K:16M:8", "--search-time", "1", "--target", "nccl", "-o", "sizes", code=(0, 3))
rows = json.loads((work / "sizes/table.json").read_text())["rows"]
assert len({row["point"] for row in rows}) > 1, rows
program = compiled(next((work / "sizes").glob("*.cu")))
for row in rows[:4]:
    output = run(program, row["message_bytes"] // 4, 1)
    assert len(re.findall(rf"allreduce on full:4: {row['steps']} steps?, .*, 0 wrong, 0 slots", output)) == 2, (row, output)

# Float32 that travels in groups has the bits of a slow judge; other types are refused.
of_files = """
int main(int, char** argv) {
  const long n = std::atol(argv[1]);
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < kRanks; ++rank)
    threads.emplace_back([=] {
      const auto file = [&](const char* name, const char* how) { return std::fopen((name + std::to_string(rank)).c_str(), how); };
      ncclComm_t comm;
      cudaStream_t stream;
      cudaSetDevice(rank);
      ncclCommInitRank(&comm, kRanks, id, rank);
      cudaStreamCreate(&stream);
      std::vector<float> input(n), output(n);
      std::FILE *const in = file("in.", "rb"), *const out = file("out.", "wb");
      if (std::fread(input.data(), 4, n, in) != static_cast<std::size_t>(n)) std::abort();
      if (chorale_allreduce(input.data(), output.data(), n, ncclFloat32, ncclSum, comm, stream) != ncclSuccess) std::abort();
      cudaStreamSynchronize(stream);
      std::fwrite(output.data(), 4, n, out);
      std::fclose(in), std::fclose(out);
      ncclCommDestroy(comm);
    });
  for (std::thread& thread : threads) thread.join();
  return 0;
}
"""
run(chorale, "frontier", "ring:4", "allreduce", "--sum", "once", "--max-chunks", "2", "--json", "once.json", code=(0, 3))
run(chorale, "emit", "once.json", "--point", 1, "--target", "nccl", "--wire", "int8", "-o", "groups")
source = next((work / "groups").iterdir())
alone = source.read_text()
(work / "with_files.cu").write_text(merged([alone, alone[:alone.index("#ifndef CHORALE_NO_MAIN")] + of_files]))
packed = compiled(work / "with_files.cu")
for elements in (0, 1, 1009):
    rights(run(packed, 0, elements, 2), 2)
assert "float32 travels as" in run(packed, 0, 7, 1) and "usage" in run(packed, 0, 7, 1, "bfloat16", code=2)
for elements in (31, 197):
    inputs = [mixed(random.Random(elements + rank), elements) for rank in range(4)]
    for rank, each in enumerate(inputs):
        (work / f"in.{rank}").write_bytes(array.array("f", each).tobytes())
    run(packed, 1, elements)
    for rank in range(4):
        assert not differing((work / f"out.{rank}").read_bytes(), inputs, "int8"), (elements, rank)

# It says what it cannot use.
assert "usage" in run(program, "5", "0", code=2)
for devices in (0, 2):
    said = run(program, code=2, env={"CHORALE_SHIM_DEVICES": str(devices)})
    assert f"needs 4 GPUs in this machine, found {devices}" in said and ("NCCL_MULTI_RANK_GPU_ENABLE=1" in said) == (devices > 0), said
# Then ranks share them. Where one waited for all work of its GPU, it would wait for the
# others of it, and they for it.
for devices in (1, 2):
    shared = {"CHORALE_SHIM_DEVICES": str(devices), "NCCL_MULTI_RANK_GPU_ENABLE": "1", "CHORALE_SHIM_TIMEOUT_MS": "5000"}
    for source, (*_, rows, _) in zip(programs, results):
        rights(run(*together[source], 1009, 3, env=shared), rows)

# The function alone.
run(cxx, "-x", "c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-DCHORALE_NO_MAIN",
    "-I", headers, programs[0])
print(f"{len(results)} programs over NCCL run on the CPU, 0 wrong; {noticed} changed ones noticed")
