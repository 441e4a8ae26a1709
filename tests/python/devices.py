#!/usr/bin/env python3
"""What load(.., device="cuda") does before it needs a GPU: it compiles with the NCCL that PyTorch's wheels have
beside them, refuses groups that do not move tensors of the device, and graphs of programs that have not run.

Usage: devices.py CHORALE FOLDER
"""
import os
import pathlib
import sys
import tempfile

from torch_ranks import started

os.environ["CHORALE"], folder = sys.argv[1], sys.argv[2]
torch = started([1])

from chorale import workload  # noqa: E402

TEXT = "workload twice\nsize N = 8\nTensor x(fp32, [N], Replicated)\ny = 2 * x\nreturn y\n"
MACHINE = "full:2"


def refused(kind, says, call):
    try:
        call()
    except kind as error:
        assert says in str(error), f"{says!r} is not said: {error}"
    else:
        raise AssertionError(f"is taken, where {says!r} was to be refused")


with tempfile.TemporaryDirectory() as scratch:
    scratch = pathlib.Path(scratch)
    file, told = scratch / "twice.chorale", scratch / "told"
    file.write_text(TEXT)
    nvcc = scratch / "nvcc"
    nvcc.write_text(f"""#!/bin/sh
printf '%s\\n' "$@" > {told}
ls > {told}.files
while [ $# -gt 1 ]; do [ "$1" != -o ] || touch "$2"; shift; done
""")
    nvcc.chmod(0o755)
    workload.require_device = lambda device: None

    def compiled(number):
        made = workload.built(file, MACHINE, 1, directory=scratch / f"kept{number}", compiler=str(nvcc), device="cuda")
        assert (made / "libtwice_nccl.so").exists(), sorted(made.iterdir())
        assert not (made / "libnccl.so").exists()
        return told.read_text().split("\n"), pathlib.Path(f"{told}.files").read_text().split()

    sys.modules.pop("nvidia", None)
    found, workload.nccl_of_pip = workload.nccl_of_pip, lambda: None
    words, files = compiled(0)
    assert "-lnccl" in words and "-L." not in words and "libnccl.so" not in files, words
    workload.nccl_of_pip = found
    wheels = scratch / "wheels with a space"
    for each in ("include/nccl.h", "lib/libnccl.so.2"):
        (wheels / "nvidia/nccl" / each).parent.mkdir(parents=True, exist_ok=True)
        (wheels / "nvidia/nccl" / each).touch()
    sys.path.insert(0, str(wheels))
    assert workload.nccl_of_pip() == wheels / "nvidia/nccl", workload.nccl_of_pip()
    words, files = compiled(1)
    assert f"-I{wheels}/nvidia/nccl/include" in words and "-L." in words and "-lnccl" in words, words
    assert "libnccl.so" in files, files

    program = workload.load(file, MACHINE, directory=folder)
    x = torch.arange(4.0)
    torch.cuda.is_current_stream_capturing = lambda: True
    refused(RuntimeError, "call it once before the graph is captured", lambda: program.run(0, {"x": x}, None))
    assert torch.equal(program(x=x), 2 * x)
    workload.carries = lambda group, kind: kind == "cuda"
    refused(ValueError, "device='cpu': the group's backend, gloo, moves no tensors of the CPU", lambda: workload.load(file, MACHINE, directory=folder))
print("device='cuda': the NCCL of wheels is compiled with; what cannot be is refused")
