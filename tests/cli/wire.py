#!/usr/bin/env python3
"""Float32 that travels as something shorter, in programs that `emit --target mpi --wire` writes: on numbers of
mixed magnitude every rank has, bit by bit, what a slow judge makes of the definitions (docs/lowering.md), on
2 to 8 ranks, in blocks of odd lengths.

Usage: wire.py CHORALE MPICXX FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import array
import pathlib
import random
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.merged import merged  # noqa: E402
from kit.program import mpirun, refused, run, run_chorale, work  # noqa: E402
from kit.travels import differing, mixed  # noqa: E402

mpicxx, flags = sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
LENGTHS = [197, 33, 1, 197, 31, 0]

# What each program has, and a main that runs it on given numbers: input of rank R in in.R, output to out.R.
MAIN = """
int of_files(int rank, long n) {
  std::vector<float> input(INPUTS * n), output(n, -1);
  const auto file = [&](const char* name, const char* how, std::vector<float>& data) {
    std::FILE* const at = std::fopen((std::string(name) + std::to_string(rank)).c_str(), how);
    const std::size_t count = *how == 'r' ? std::fread(data.data(), 4, data.size(), at) : std::fwrite(data.data(), 4, data.size(), at);
    return std::fclose(at) == 0 && count == data.size();
  };
  if (!file("in.", "rb", input)) return 2;
  const chorale::Form& form = chorale::form_of(1e9, kFailures[0].forms);
  Algorithm<Travels>(form.tables, MPI_COMM_WORLD, rank, n, input.data(), output.data(), nullptr).run();
  return file("out.", "wb", output) ? 0 : 2;
}
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int code = of_files(rank, std::atol(argv[1]));
  MPI_Finalize();
  return code;
}
"""
machines = [("full:2", "allreduce", 0, ("fp16", "int8")), ("full:3", "allreduce", 1, ("e4m3", "mxfp8")),
            ("ring:4", "allreduce", 1, ("bf16", "int8")), ("full:8", "allreduce", 0, ("e5m2",)),
            ("star:5", "reducescatter", 2, ("mxfp8",))]
programs = []
for number, (machine, collective, point, wires) in enumerate(machines):
    run_chorale("frontier", machine, collective, "--sum", "once", "--max-chunks", "2", "--json", f"{number}.json", code=(0, 3))
    for wire in wires:
        file = run_chorale("emit", f"{number}.json", "--point", point, "--target", "mpi", "--wire", wire, "-o", f"{number}_{wire}")
        programs.append((machine, collective, wire, (work / file.splitlines()[-1].strip()).read_text()))
texts = []
for machine, collective, wire, text in programs:
    ranks = int(machine.split(":")[1])
    texts += [text, text[:text.index("int main(")] + MAIN.replace("INPUTS", str(ranks if collective == "reducescatter" else 1))]
(work / "all.cpp").write_text(merged(texts))
run(mpicxx, f"@{flags}/quick17", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", "all.cpp", "-o", "all")
numbers = random.Random(1)
for k, (machine, collective, wire, _) in enumerate(programs):
    ranks = int(machine.split(":")[1])
    if k % 3 == 2:
        said = mpirun(ranks, "./all", 2 * k, 1001, 1)
        assert re.search("float32 travels as .*, 0 wrong, 0 slots with ranks that differ", said), said
    n = LENGTHS[k % len(LENGTHS)]
    blocks = ranks if collective == "reducescatter" else 1
    inputs = [mixed(numbers, blocks * n) for _ in range(ranks)]
    for rank, each in enumerate(inputs):
        (work / f"in.{rank}").write_bytes(array.array("f", each).tobytes())
    mpirun(ranks, "./all", 2 * k + 1, n)
    for rank in range(ranks):
        begin = rank * n if blocks > 1 else 0
        differ = differing((work / f"out.{rank}").read_bytes(), [each[begin:begin + n] for each in inputs], wire)
        assert not differ, (machine, collective, wire, n, rank, differ[:3])

# What has no such programs is refused, with the reason.
run_chorale("classic", "ring_allreduce", "full:4", "--json", "ring.json")
refused("emit", "ring.json", "--target", "mpi", "--wire", "bf16", says="partial sums travel")
refused("emit", "1.json", "--point", "1", "--target", "json", "--wire", "bf16", says="elements of target json travel as they are")
refused("emit", "1.json", "--point", "1", "--target", "cuda", "--wire", "bf16", says="elements of target cuda travel as they are")
