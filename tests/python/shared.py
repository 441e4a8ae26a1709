#!/usr/bin/env python3
"""Memory that ranks share (chorale.shared): a program gives the same bits with it and over torch.distributed, of tensors in
the shared memory and elsewhere; what is dropped is given back; one rank that disables it disables it for all; a rank
that ends is named by those that wait for it.

Usage: shared.py CHORALE FOLDER [--current]
"""
import gc
import os
import pathlib
import random
import sys

from torch_ranks import started

os.environ["CHORALE"], folder = sys.argv[1], pathlib.Path(sys.argv[2])
torch = started([3])
import torch.distributed as dist  # noqa: E402

from chorale import shared, workload  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()
folder.mkdir(exist_ok=True)
text = folder / "shared_sums.chorale"
if rank == 0:
    text.write_text("""workload sums
size N = 4194304
Tensor x(fp32, [N], Local)
Tensor p(fp32, [N], Replicated)
d = ReduceScatter("+", x)
p_ = Update(p, AllGather(Slice(p) + d))
return p_, d
""")
dist.barrier()


def loaded():
    return workload.load(text, f"ring:{ranks}", directory=folder)


def refused(says, call):
    try:
        call()
    except RuntimeError as error:
        assert says in str(error), error
    else:
        raise AssertionError(f"is taken, where {says!r} was to be raised")


sums = loaded()
assert sums.room is not None, "ranks on one machine share no memory"
if rank == 1:
    os.environ["CHORALE_SHM_DISABLE"] = "1"
shared._rooms.clear()
distributed = loaded()
assert distributed.room is None, "one rank has no shared memory, and the others use it"
os.environ.pop("CHORALE_SHM_DISABLE", None)

draw, own = random.Random(1), torch.Generator().manual_seed(rank)
for turn in range(30):
    count = draw.choice([3, 4, 5, 1000, draw.randrange(3, 200000)])
    values, parameters = torch.randn(count, generator=own), torch.randn(count, generator=torch.Generator().manual_seed(turn))
    x, p = (sums.zeros(count, torch.float32) if draw.randrange(2) else torch.zeros(count) for _ in range(2))
    x.copy_(values)
    p.copy_(parameters)
    have, want = sums(x=x, p=p), distributed(x=values, p=parameters)
    assert all(torch.equal(a.view(torch.int32), b.view(torch.int32)) for a, b in zip(have, want)), f"turn {turn}, {count} elements: other bits"

heap, place = sums.room.heaps[rank], sums.room.used
big = sums.zeros(1 << 20, torch.bfloat16)
big.fill_(1)
assert any(heap[place:place + 64])
del big
gc.collect()
assert not any(heap[place:place + (2 << 20)]), "memory is not given back"
kept = sums.empty(5000, torch.uint8)
kept.fill_(255)
at = kept.data_ptr()
del kept
gc.collect()
place = sums.room.take(5000)
assert not any(heap[place:place + 5000]), "memory for messages is not zero"
assert sums.empty(5000, torch.uint8).data_ptr() == at, "memory is not kept for the next"
dist.barrier()
if rank == 0:
    print(f"PyTorch {torch.__version__}: {turn + 1} runs on {ranks} ranks have the same bits in shared memory and over torch.distributed", flush=True)
if rank == 2:
    os._exit(0)
refused("has ended", lambda: sums(x=x, p=p))  # that of rank 2, or of the rank that has noticed first
os._exit(0)
