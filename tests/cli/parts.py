#!/usr/bin/env python3
"""What few commands need is loaded when it is needed: an easy command starts without it, a program without a
part reports it, and a part of another build is refused.

Usage: parts.py CHORALE CXX
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

chorale, cxx = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
FOREIGN = 'extern "C" const char* chorale_headers() { return "other"; } extern "C" const void* %s() { return nullptr; }'
LIBRARIES = chorale.parent.parent / "lib"

with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "bin").mkdir()
    (work / "lib").mkdir()
    alone = work / "bin" / "chorale"
    shutil.copy(chorale, alone)
    result = work / "r.json"

    # All that a start loads, as the loader states it.
    loaded = subprocess.run([chorale], env={**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}, capture_output=True, text=True, check=True).stdout
    heavy = [name for name in ("mpi", "z3", "Clp", "crypto", "hwloc", "lapack") if f"lib{name}" in loaded]
    assert not heavy, f"every start loads {heavy}:\n{loaded}"

    # Easy questions need no part.
    subprocess.run([alone, "classic", "ring_allgather", "ring:4", "--json", result], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([alone, "frontier", "ring:4", "allgather"], check=True, stdout=subprocess.DEVNULL)

    def refused(words, *arguments, **environment):
        done = subprocess.run([alone, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(lines) == 1 and words in lines[0] and "cmake --build" in lines[0], (arguments, done)

    on_gpu = ("run", result, "--transport", "gpu", "--bytes", "1K")
    on_mpi = ("run", result, "--transport", "mpi", "--bytes", "1K")
    by_z3 = ("synthesize", "ring:4", "allgather", "--steps", "2", "--rounds", "2", "--engine", "smt", "--no-bounds")
    refused("runs without that part (libchorale-gpu-run.so", *on_gpu)
    refused("runs without that part (libchorale-mpi-run.so", *on_mpi, OMPI_COMM_WORLD_SIZE="1")
    refused("runs without that part (libchorale-z3.so", *by_z3)
    source = work / "part.cpp"
    for text in (FOREIGN % "chorale_gpu_part", "int nothing;"):
        source.write_text(text)
        subprocess.run([cxx, "-shared", "-fPIC", source, "-o", work / "lib" / "libchorale-gpu-run.so"], check=True)
        refused("libchorale-gpu-run.so is of another build than this chorale", *on_gpu)

    # With the part beside it, the same question is answered.
    shutil.copy(LIBRARIES / "libchorale-z3.so", work / "lib")
    subprocess.run([alone, *by_z3], check=True, stdout=subprocess.DEVNULL)
print("easy commands start without parts; no part, and two of others: refused")
