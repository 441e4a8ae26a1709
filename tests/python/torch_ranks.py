"""Starts a test of PyTorch as several processes over gloo. With --current among the arguments the interpreter
is that of $CHORALE_TORCH_PYTHON (benchmarks/torch_env.sh makes it), without which the test is left out,
loudly."""
import os
import pathlib
import socket
import subprocess
import sys


def started(counts, limit=280):
    """The module torch, in a process that is a rank. In the first process it starts these numbers of ranks,
    one after the other, and exits."""
    current = "--current" in sys.argv
    if current and "RANK" not in os.environ:
        named = os.environ.get("CHORALE_TORCH_PYTHON")
        if not named:
            print("SKIPPED: CHORALE_TORCH_PYTHON names no Python with the current PyTorch: benchmarks/torch_env.sh FOLDER makes one")
            sys.exit(77)
        python = named
    else:
        python = sys.executable
    if "RANK" not in os.environ:
        if subprocess.run([python, "-c", "import torch.distributed as d; assert d.is_gloo_available()"], capture_output=True).returncode != 0:
            print(f"SKIPPED: {python} has no PyTorch with gloo (Debian: python3-torch)")
            sys.exit(77)
        for ranks in counts:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                port = probe.getsockname()[1]
            processes = [subprocess.Popen([python, *sys.argv], env={**os.environ, "RANK": str(n), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
                                                                    "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}) for n in range(ranks)]
            try:
                codes = [process.wait(timeout=limit) for process in processes]
            finally:
                for process in processes:
                    process.kill()
            if any(codes):
                sys.exit(max(abs(code) for code in codes))
        sys.exit(0)
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
    import torch
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    return torch
