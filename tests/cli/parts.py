#!/usr/bin/env python3
"""What runs on GPUs is loaded when it is needed: a program without that part says so, and one of another build is refused.

Usage: parts.py CHORALE CXX
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

chorale, cxx = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
FOREIGN = 'struct Part { const char* headers; void (*run)(); }; extern "C" const Part* %s() { static Part p{"other", nullptr}; return &p; }'

with tempfile.TemporaryDirectory() as name:
    work = pathlib.Path(name)
    (work / "bin").mkdir()
    (work / "lib").mkdir()
    alone = work / "bin" / "chorale"
    shutil.copy(chorale, alone)
    result = work / "r.json"
    subprocess.run([alone, "classic", "ring_allgather", "ring:2", "--json", result], check=True, stdout=subprocess.DEVNULL)

    def refused(transport, words):
        done = subprocess.run([alone, "run", result, "--transport", transport, "--bytes", "1K"], capture_output=True, text=True)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(lines) == 1 and words in lines[0] and "cmake --build" in lines[0], (transport, done)

    refused("gpu", "runs without that part (libchorale-gpu-run.so")
    source = work / "part.cpp"
    source.write_text(FOREIGN % "chorale_gpu_part")
    subprocess.run([cxx, "-shared", "-fPIC", source, "-o", work / "lib" / "libchorale-gpu-run.so"], check=True)
    refused("gpu", "libchorale-gpu-run.so is of another build than this chorale")
    source.write_text("int nothing;")
    subprocess.run([cxx, "-shared", "-fPIC", source, "-o", work / "lib" / "libchorale-gpu-run.so"], check=True)
    refused("gpu", "libchorale-gpu-run.so is of another build than this chorale")
print("no part, and two of others: refused")
