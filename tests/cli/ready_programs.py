#!/usr/bin/env python3
"""Programs that 'library export --as mpi' and 'optimize --ready' write of a library that is ready for failures: after each failure every
element is right, and no message passes the failed link; running ones switch when a file names a failure, or after a
signal, and end with one line where nothing is ready for it.

Usage: ready_programs.py CHORALE MPICXX FLAGS, the folder of tests/scripts/emitted.cmake.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.merged import merged  # noqa: E402
from kit.program import mpirun, refused, run, run_chorale, work  # noqa: E402

mpicxx, flags = sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
collectives = ["allreduce", "allgather", "reducescatter", "alltoall", "broadcast"]
(work / "spec.json").write_text(json.dumps({"machines": ["ring:4", "mesh:2x3"], "collectives": collectives, "max_chunks": 2, "conflicts": 500}))
run_chorale("library", "build", "spec.json", "--failures", 1, "-o", "ready.db", code=(0, 3))
sources = []
for machine, failures in [("ring:4", 8), ("mesh:2x3", 7 + 6)]:
    for collective in collectives:
        folder = f"{machine.replace(':', '_')}_{collective}"
        run_chorale("library", "export", "ready.db", machine, collective, "--as", "mpi", "--bytes", "64,1M", "-o", folder)
        (source,) = (work / folder).iterdir()
        assert f"ready for {failures} failures" in source.read_text() or collective == "broadcast", source
        sources.append(source)
run_chorale("optimize", "ring:4", "allreduce", "--sizes", "1K,1M", "--effort", "1", "--target", "mpi", "--ready", "ready.db", "-o", "best", code=(0, 3))
(source,) = (work / "best").glob("*.cpp")
assert "ready for 8 failures" in source.read_text(), source
sources.insert(0, source)
for wrong, says in [(("ring:5", "--target", "mpi", "-o", "none"), "has no allreduce of ring:5 after a failure"), (("ring:4", "--target", "json", "-o", "none"), "--target"),
                    (("ring:4", "--target", "mpi"), "--ready: is for programs that switch"),
                    (("ring:4", "--order", "fixed", "--target", "mpi", "-o", "none"), "its sums are in another order")]:
    refused("optimize", wrong[0], "allreduce", "--sizes", "1K", "--effort", "1", "--ready", "ready.db", *wrong[1:], says=says)

# Trees are compared as the ranks of the program are called.
(work / "spec.json").write_text(json.dumps({"machines": ["ring:4"], "collectives": ["allreduce"], "max_chunks": 1, "conflicts": 100, "order": "by-index"}))
run_chorale("library", "build", "spec.json", "--failures", 1, "-o", "by_index.db", code=(0, 3))
asked = ("optimize", "ring:4", "allreduce", "--sizes", "1K", "--effort", "1", "--target", "mpi", "--ready", "by_index.db", "-o")
run_chorale(*asked, "by_index", "--order", "by-index", code=(0, 3))
for order in (("--order", "(((3 2) 1) 0)"), ("--sum", "once")):
    refused(*asked, "none", *order, says="its sums are in another order")

# Instead of its main: all that it is ready for, one after the other; what it sends is watched.
MAIN = r"""
int main(int argc, char** argv) {
  Watch watch;
  bool right = true;
  for (const Failure& failure : kFailures) {
    int iterations = 2;
    cut_a = cut_b = -1;
    std::sscanf(failure.name, "link %d-%d", &cut_a, &cut_b);
    right = measure(failure, argc > 1 ? std::atol(argv[1]) : 1, iterations, watch) && right;
  }
  return right ? 0 : 1;
}
"""
WATCH = r"""
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#include <cstdio>
static int cut_a = -1, cut_b = -1, sends = 0;
static void watch_message(int peer) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  ++sends;
  if ((rank != cut_a || peer != cut_b) && (rank != cut_b || peer != cut_a)) return;
  std::fprintf(stderr, "rank %d: a message to rank %d, whose link has failed\n", rank, peer);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
extern "C" int MPI_Send_init(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  watch_message(peer);
  return PMPI_Send_init(data, count, type, peer, tag, comm, request);
}
extern "C" int MPI_Ssend_init(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  watch_message(peer);
  return PMPI_Ssend_init(data, count, type, peer, tag, comm, request);
}
"""
texts = [source.read_text().replace("int main(", "int own_main(") + MAIN for source in sources]
whole = merged(texts)
# One start for all programs of a machine.
whole = whole[:whole.rindex("int main(int argc")] + r"""
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int ranks = 0, wrong = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
""" + "".join(f"  if (ranks == {4 if i <= len(collectives) else 6}) wrong += program{i}::program(argc, argv);\n" for i in range(len(sources))) + """
  MPI_Finalize();
  return wrong != 0 || (sends == 0 && std::atol(argv[1]) > 0);
}
"""
(work / "all.cpp").write_text(WATCH + whole)
run(mpicxx, f"@{flags}/quick17", "-Wno-unused-function", "all.cpp", "-o", "all")
for ranks, failures in [(4, 8), (6, 13)]:
    for elements in (1, 37, 0):
        lines = mpirun(ranks, "./all", elements).splitlines()
        assert all(line.endswith(", 0 wrong, 0 slots with ranks that differ") for line in lines), lines
        assert sum(line.startswith("after the failure of ") for line in lines) >= 4 * failures, lines

# One as it is, while parts fail. It ends by a name that it does not know.
run(mpicxx, "-O1", "-std=c++17", "-Wall", "-Wextra", "-Werror", sources[0], "-o", "one")  # of optimize
for announced in ("", "USR1"):
    failed, said = work / f"failed{announced}", work / f"said{announced}"
    with open(said, "w") as out, open(work / "err", "w") as err:
        program = subprocess.Popen(["mpirun", "--oversubscribe", "-n", "4", "-x", f"CHORALE_FAILED={failed}", "-x", f"CHORALE_FAILED_SIGNAL={announced}",
                                    "./one", "100", "100000000"], stdout=out, stderr=err, cwd=work, env=os.environ)
        for number, name in enumerate(["link 2-3", "rank 1", "", "link 0-3", "link 0-9"]):
            time.sleep(1 if number == 0 else 0.1)  # until the first one has been read, as nothing
            (work / "new").write_text(name + "\n")
            (work / "new").rename(failed)
            until = time.monotonic() + 120
            while len(said.read_text().splitlines()) <= number and time.monotonic() < until and program.poll() is None:
                if announced:
                    program.send_signal(signal.SIGUSR1)
                time.sleep(0.1)
        assert program.wait(timeout=60) != 0
    lines = said.read_text().splitlines()
    begins = [re.match(r"(?:after the failure of (.*?): )?allreduce on ring:4: .* 0 wrong, 0 slots with ranks that differ$", line) for line in lines]
    assert all(begins) and [each[1] for each in begins] == [None, "link 2-3", "rank 1", None, "link 0-3"], lines
    unknown = re.findall("no algorithm is ready.*", (work / "err").read_text())
    assert len(unknown) == 1 and unknown[0].startswith("no algorithm is ready for the failure of 'link 0-9'; there are some for 8 failures: "), unknown

refused("library", "export", "ready.db", "ring:5", "allreduce", "--as", "mpi", "-o", "none", says="has no allreduce of ring:5")
print("eleven programs after each failure of two machines: every element right, no message over a failed link; two switched while they ran")
