#!/usr/bin/env python3
"""Does the plan of plan.json (chorale reshard) by torch.distributed, and checks every byte.

    torchrun --nproc-per-node RANKS reshard_torch.py [gloo|nccl]
    python3 reshard_torch.py --spawn       all ranks on this machine, over gloo

reshard(plan, rank, held) is for other programs: `held` has the part that this rank holds, by (tensor,
copy), as bytes with those of an element as its last dimension; it returns the parts that the rank needs in
the same form.
"""
import json
import math
import os
import pathlib
import sys

import torch
import torch.distributed as dist

PLAN = json.loads((pathlib.Path(__file__).resolve().parent / "plan.json").read_text())


def box_of(layout, rank):
    return next((box for r, box in layout if r == rank), None)


def inside(box, outer):
    """The slices of a box in a part that begins at `outer`; bytes of an element are the last dimension."""
    return tuple(slice(a - o, b - o) for (a, b), (o, _) in zip(box, outer))


def empty(tensor, box, device):
    return torch.zeros([b - a for a, b in box] + [tensor["element_bytes"]], dtype=torch.uint8, device=device)


# A part travels as one stream of bytes: its regions one after the other, each copy of a tensor row by row.
# The stream is padded to a whole number of pieces, so that all pieces of a part have one size and no
# message has a length of its own. A rank that only relays a part holds a stream, too, and cuts nothing out
# of it. What is there already is copied from the old tensor and not sent.
def reshard(plan, rank, held, device="cpu"):
    pieces, streams, chunk = plan["pieces"], {}, {}
    for number, part in enumerate(plan["parts"]):
        for c in range(part["chunks"]):
            chunk[part["first_chunk"] + c] = (number, c)
        size = math.ceil(part["bytes"] / max(1, part["chunks"] * pieces))  # of a piece
        streams[number] = torch.zeros(size * part["chunks"] * pieces, dtype=torch.uint8, device=device)
        if rank in part["holders"] and part["chunks"]:
            at = 0
            for t, box in part["regions"]:
                outer = box_of(plan["tensors"][t]["from"], rank)
                for copy in range(plan["tensors"][t]["count"]):
                    piece = held[t, copy][inside(box, outer)].reshape(-1)
                    streams[number][at:at + piece.numel()] = piece
                    at += piece.numel()

    def piece_of(c):
        number, k = chunk[c // pieces]
        size = streams[number].numel() // (plan["parts"][number]["chunks"] * pieces)
        first = (k * pieces + c % pieces) * size
        return streams[number][first:first + size]

    for step in plan["steps"]:
        operations = [dist.P2POp(dist.isend, piece_of(c), dst) if src == rank else dist.P2POp(dist.irecv, piece_of(c), src)
                      for c, src, dst in step if rank in (src, dst)]
        for request in dist.batch_isend_irecv(operations) if operations else []:
            request.wait()
    needed = {}
    for number, part in enumerate(plan["parts"]):
        if rank not in part["wanted"]:
            continue
        at = 0
        for t, box in part["regions"]:
            tensor = plan["tensors"][t]
            outer = box_of(tensor["to"], rank)
            if not outer or not all(o <= a and b <= e for (a, b), (o, e) in zip(box, outer)):  # it comes with the rest
                at += tensor["count"] * tensor["element_bytes"] * math.prod(b - a for a, b in box)
                continue
            for copy in range(tensor["count"]):
                part_of = needed.setdefault((t, copy), empty(tensor, outer, device))
                target = part_of[inside(box, outer)]
                if rank in part["holders"]:
                    target.copy_(held[t, copy][inside(box, box_of(tensor["from"], rank))])
                else:
                    target.copy_(streams[number][at:at + target.numel()].view(target.shape))
                at += target.numel()
    return needed


def expected(tensor, t, copy, box):
    """Bytes by a hash of tensor, copy, coordinates and byte, so a byte at a wrong place differs from the
    right one with odds of 255 in 256."""
    value = torch.full((), 17 * t + 31 * copy + 1, dtype=torch.int64)
    for d, (a, b) in enumerate(box):
        shape = [1] * (len(box) + 1)
        shape[d] = b - a
        value = value + (torch.arange(a, b) * (2654435761 + 40503 * d)).view(shape)
    value = value + torch.arange(tensor["element_bytes"]) * 97
    return ((value ^ (value >> 11) ^ (value >> 23)) & 255).to(torch.uint8)


def main(rank, world, backend, spawned):
    if spawned:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("MASTER_PORT", "29531"))
        torch.set_num_threads(1)
    dist.init_process_group(backend, rank=rank, world_size=world)
    device = f"cuda:{rank % torch.cuda.device_count()}" if backend == "nccl" else "cpu"
    held = {(t, copy): expected(tensor, t, copy, box_of(tensor["from"], rank)).to(device)
            for t, tensor in enumerate(PLAN["tensors"]) for copy in range(tensor["count"]) if box_of(tensor["from"], rank)}
    needed = reshard(PLAN, rank, held, device)
    wrong = right = 0
    for t, tensor in enumerate(PLAN["tensors"]):
        box = box_of(tensor["to"], rank)
        for copy in range(tensor["count"] if box else 0):
            if math.prod(b - a for a, b in box) == 0:
                continue
            difference = needed[t, copy].cpu() != expected(tensor, t, copy, box)
            wrong += int(difference.sum())
            right += int((~difference).sum())
    counts = torch.tensor([wrong, right], device=device)
    dist.all_reduce(counts)
    if rank == 0:
        print(f"{world} ranks: {int(counts[1])} bytes are right, {int(counts[0])} are wrong")
    dist.destroy_process_group()
    if int(counts[0]):
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:] == ["--spawn"]:
        import torch.multiprocessing as mp
        # Forked, so that PyTorch is imported once.
        mp.start_processes(main, (PLAN["ranks"], "gloo", True), PLAN["ranks"], start_method="fork")
    else:
        main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), sys.argv[1] if len(sys.argv) > 1 else "gloo", False)
