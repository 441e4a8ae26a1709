#!/usr/bin/env python3
"""Training on 1, 2 and 4 ranks that share the same micro-batches: with order="by-index" the losses of 200 steps are
equal bit by bit, in float32, in float32 that crosses as bfloat16, and in bfloat16; in the default order they are not. With sum="once" and wire="bf16" replicas
are equal, and sums are rounded once. With a current PyTorch FSDP2, too, on 2 and 4 ranks.

Usage: order.py CHORALE FOLDER [--current]
"""
import os
import pathlib
import sys

from torch_ranks import started

os.environ["CHORALE"], folder = sys.argv[1], sys.argv[2]
kept = pathlib.Path(folder) / "losses"
kept.mkdir(parents=True, exist_ok=True)
for each in kept.iterdir():
    each.unlink()
STEPS, TERMS = 200, 4
torch = started([1, 2, 4])
import torch.distributed as dist  # noqa: E402

from chorale import optim  # noqa: E402

rank, ranks = dist.get_rank(), dist.get_world_size()


def losses(kind, **how):
    """Of each step and micro-batch, those of all ranks."""
    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(7, 33), torch.nn.Tanh(), torch.nn.Linear(33, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1)).to(kind)
    optimizer = optim.FusedAdam(net.parameters(), lr=1e-2, directory=folder, **how)
    generator, mine, result = torch.Generator().manual_seed(100), TERMS // ranks, []
    for _ in range(STEPS):
        x = torch.randn(TERMS, 16, 7, generator=generator)
        y = x.pow(2).sum(2, keepdim=True).sin()
        optimizer.zero_grad()
        for term in range(rank * mine, (rank + 1) * mine):
            def one():
                loss = (net(x[term].to(kind)).float() - y[term]).square().mean()
                (loss / mine).backward()
                result.append(loss.item())

            if term + 1 < (rank + 1) * mine:
                with optimizer.no_sync():
                    one()
            else:
                one()
        optimizer.step()
    every = [torch.empty(STEPS, mine) for _ in range(ranks)]
    dist.all_gather(every, torch.tensor(result).view(STEPS, mine))
    return torch.cat(every, 1), net


def apart(have, word):
    """Losses that differ from those of one rank."""
    file = kept / f"{word}.pt"
    if ranks == 1:
        torch.save(have, file)
    return int((torch.load(file).view(torch.int32) != have.view(torch.int32)).sum())


for kind, word, how in [(torch.float32, "float32", {}), (torch.float32, "float32 as bfloat16", dict(wire="bf16")), (torch.bfloat16, "bfloat16", {})]:
    have, _ = losses(kind, order="by-index", **how)
    differ = apart(have, word)
    assert differ == 0, f"{word}, {ranks} ranks: {differ} losses differ from those of one rank"
    assert have[-20:].mean() < have[:20].mean(), word
    if rank == 0:
        print(f"{word}, by index: {have.numel()} losses, {have[0].mean():.4f} to {have[-1].mean():.4f}, ranks: {ranks}, the same bits as on one", flush=True)
if ranks == TERMS:
    have, _ = losses(torch.float32)
    assert apart(have, "float32") > 0, "the default order has the same bits by chance, and the test shows nothing"
    have, net = losses(torch.float32, sum="once", wire="bf16")
    assert have[-20:].mean() < have[:20].mean()
    flat = torch.cat([p.detach().reshape(-1) for p in net.parameters()])
    every = [torch.empty_like(flat) for _ in range(ranks)]
    dist.all_gather(every, flat)
    assert all(torch.equal(flat.view(torch.int32), each.view(torch.int32)) for each in every), "replicas differ"
    # 1 + 2^-8 + 2^-8 is 1 + 2^-7 in bfloat16. Rounded after each addition it is 1: ties go to the even
    # number.
    p = torch.nn.Parameter(torch.zeros(ranks, dtype=torch.bfloat16))
    optimizer = optim.FusedSGD([p], lr=1.0, directory=folder, sum="once")
    p.grad = torch.full((ranks,), [1.0, 2.0**-8, 2.0**-8, 0.0][rank], dtype=torch.bfloat16)
    optimizer.step()
    right = torch.full((ranks,), -(1 + 2.0**-7) / ranks, dtype=torch.float32).bfloat16()
    assert torch.equal(p.detach(), right), (p.detach(), right)
    if rank == 0:
        print("in the default order losses differ; with sum='once' and wire='bf16' replicas are equal, and sums are rounded once")
if "--current" in sys.argv and ranks > 1:
    # FSDP2 adds the passes of a rank one after the other: of two that is the tree.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    from chorale import fsdp

    torch.manual_seed(3)
    net = torch.nn.Sequential(torch.nn.Linear(7, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
    fully_shard(net, mesh=init_device_mesh("cpu", (ranks,)))
    assert fsdp.fuse(net, directory=folder, order="by-index") == 1
    optimizer, generator, result, mine = torch.optim.AdamW(net.parameters(), lr=0.01, foreach=False), torch.Generator().manual_seed(5), [], TERMS // ranks
    for _ in range(STEPS):
        x = torch.randn(TERMS, 16, 7, generator=generator)
        optimizer.zero_grad()
        for term in range(rank * mine, (rank + 1) * mine):
            net.set_requires_gradient_sync(term + 1 == (rank + 1) * mine)
            loss = (net(x[term]) - x[term].pow(2).sum(1, keepdim=True).sin()).square().mean()
            (loss / mine).backward()
            result.append(loss.item())
        optimizer.step()
    every = [torch.empty(STEPS, mine) for _ in range(ranks)]
    dist.all_gather(every, torch.tensor(result).view(STEPS, mine))
    have, file = torch.cat(every, 1), kept / "fsdp.pt"
    if ranks == 2:
        torch.save(have, file)
    differ = int((torch.load(file).view(torch.int32) != have.view(torch.int32)).sum())
    assert differ == 0, f"FSDP2, {ranks} ranks: {differ} losses differ from those of two ranks"
    assert fsdp.counts["PyTorch's"] == 0 and have[-20:].mean() < have[:20].mean()
    if rank == 0:
        print(f"FSDP2, by index: {have.numel()} losses, {have[0].mean():.4f} to {have[-1].mean():.4f}, ranks: {ranks}, the same bits as on two", flush=True)
for wrong in (dict(sum="twice"), dict(sum="once", order="fixed"), dict(wire="int3")):
    try:
        optim.FusedSGD([torch.nn.Parameter(torch.zeros(3))], lr=1.0, directory=folder, **wrong)
    except ValueError:
        continue
    raise AssertionError(f"{wrong} is taken")
os._exit(0)
