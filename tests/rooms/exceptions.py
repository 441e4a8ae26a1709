#!/usr/bin/env python3
"""No exception is control flow: a function whose callers go on without its result gives an error as a value
(ir/or_error.h). The places that catch are listed here, each with its reason; another one is a fault.

Reads the sources of the product."""
import collections
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
root = root if (root / "docs").is_dir() else root.parents[2]

# reason: {file: how many}
ALLOWED = {
    "readers' errors become values here": {"ir/or_error.h": 1},
    "the end of a program, which prints the error": {"cli/main.cpp": 2, "tensor/exchange/driver.h": 2},
    "the main thread ends before the watching one": {"cli/supervisor.cpp": 7},
    "a hang becomes the command's report": {
        "cli/main.cpp": 1, "cli/run_commands.cpp": 1},
    "what a library of others throws": {
        "cli/command_line.cpp": 2, "solvers/plugins/z3.cpp": 2, "python/bindings.h": 1,
        "python/calls.cpp": 1},
    "a border that no exception may cross, to C or Python": {
        "api/chorale_c.cpp": 2, "python/module.cpp": 2, "tensor/exchange/library.h": 1,
        "preload/mpi_library_api.cpp": 2, "preload/mpi_preload.cpp": 1, "preload/nccl_api.cpp": 1,
        "preload/nccl_preload.cpp": 1},
    "a program of others goes on where memory ends": {
        "preload/mpi_collectives.cpp": 2, "preload/mpi_calls.cpp": 3, "preload/mpi_alltoallv.cpp": 3, "library/load_algorithms.cpp": 2},
    "fewer threads, or none, where memory ends": {
        "api/timed_stop.cpp": 1, "jobs/library_build.cpp": 1, "runtime/together.cpp": 1, "runtime/exchange/threads.h": 1},
    "from one thread to another": {
        "pareto/chunk_search.cpp": 1, "jobs/library_build.cpp": 1, "python/watched.h": 1, "runtime/block_executor.cpp": 2,
        "tensor/exchange/cuda.h": 2, "runtime/exchange/threads.h": 2, "tensor/exchange/nccl.h": 1},
    "undone and thrown on": {"library/plugins/sqlite.cpp": 1},
    "MPI refuses an algorithm in the middle of a run": {"jobs/measure.cpp": 1},
}
SKIPPED = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)
OTHERS = {"build", "tests", "benchmarks", "examples"}

found = collections.Counter()
for path in sorted(root.glob("*/**/*")):
    name = path.relative_to(root)
    if path.suffix in {".h", ".cpp", ".cu"} and name.parts[0] not in OTHERS:
        found[name.as_posix()] += len(re.findall(r"\bcatch\s*\(", SKIPPED.sub("", path.read_text())))

known = collections.Counter()
for files in ALLOWED.values():
    known.update(files)
faults = [f"{name}: catches {found[name]} times, and tests/rooms/exceptions.py has {known[name]}: return the error "
          f"as a value (ir/or_error.h)"
          for name in sorted(set(found) | set(known)) if found[name] != known[name]]
print("\n".join(faults) or f"{sum(known.values())} places catch, for {len(ALLOWED)} reasons")
sys.exit(1 if faults else 0)
