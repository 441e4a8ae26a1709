"""Starts a test of PyTorch as several processes over gloo. With --current among the arguments the interpreter
is that of $CHORALE_TORCH_PYTHON (benchmarks/torch_env.sh makes it), without which the test is left out,
loudly."""
import os
import pathlib
import signal
import socket
import sys
import time


def started(counts, limit=1100, gpus=False):
    """The module torch, in a process that is a rank. The first process imports it once, becomes these numbers of
    ranks, one after the other, by forking, and exits. With `gpus` each has one, which it may share with others."""
    if "--current" in sys.argv and "CHORALE_TORCH_STARTED" not in os.environ:
        named = os.environ.get("CHORALE_TORCH_PYTHON")
        if not named:
            print("SKIPPED: no current PyTorch (./test.sh --torch)")
            sys.exit(77)
        os.execve(named, [named, *sys.argv], {**os.environ, "CHORALE_TORCH_STARTED": "1"})
    if gpus:
        there = len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))
        if there == 0 or there < max(counts) and os.environ.get("NCCL_MULTI_RANK_GPU_ENABLE") != "1":
            print("SKIPPED: no GPU" if there == 0 else f"SKIPPED: fewer GPUs than {max(counts)} (NCCL_MULTI_RANK_GPU_ENABLE=1 lets ranks share one, from NCCL 2.30 on)")
            sys.exit(77)
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import torch
        import torch.distributed
        assert torch.distributed.is_gloo_available()
    except (ImportError, AssertionError):
        print(f"SKIPPED: {sys.executable} has no PyTorch with gloo (Debian: python3-torch)")
        sys.exit(77)
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "python"))
    for ranks in counts:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        sys.stdout.flush()
        processes = []
        for rank in range(ranks):
            process = os.fork()
            if process == 0:
                os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
                torch.set_num_threads(1)
                if gpus:
                    torch.cuda.set_device(rank % torch.cuda.device_count())
                torch.distributed.init_process_group("cpu:gloo,cuda:nccl" if gpus else "gloo")
                return torch
            processes.append(process)
        if not all_end_well(processes, limit):
            sys.exit(1)
    sys.exit(0)


def all_end_well(processes, limit):
    """Within so many seconds; those that are left then are ended."""
    end, left, well = time.monotonic() + limit, set(processes), True
    while left and time.monotonic() < end:
        for process in list(left):
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                left.remove(process)
                well &= status == 0
        time.sleep(0.02)
    for process in left:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return well and not left
