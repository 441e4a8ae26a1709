"""Collectives of a process group on tensors, as PyTorch can trace them (torch.compile, torch.export) where it
has functional ones, and by torch.distributed before. Slices are those of docs/workloads.md: parts of lengths
that differ by at most one, the longer ones first."""

import torch
import torch.distributed as dist


def carries(group, kind):
    """Whether a process group moves tensors that are on the "cpu" or on GPUs ("cuda")."""
    group = group or dist.distributed_c10d._get_default_group()
    types = getattr(group, "_device_types", None)
    if types is None:  # before PyTorch 2.1
        return kind == "cuda" or dist.get_backend(group) != "nccl"
    return kind in {each.type for each in types}


def global_rank(group, rank):
    """The number in the world of a rank of a group."""
    if group is None:
        return rank
    named = getattr(dist, "get_global_rank",
                    None) or dist.distributed_c10d._get_global_rank  # before PyTorch 2
    return named(group, rank)


def part(side, ranks, rank):
    """The begin and the length of a rank's slice."""
    return rank * (side // ranks) + min(rank, side % ranks), side // ranks + (rank < side % ranks)


class Exchanges:
    def __init__(self, group=None):
        self.group, self.rank, self.ranks = group, dist.get_rank(group), dist.get_world_size(group)
        self.functional = hasattr(torch.ops, "_c10d_functional") and hasattr(torch.ops._c10d_functional,
                                                                             "all_reduce")
        if self.functional:
            self.named = (group or dist.group.WORLD).group_name

    def all_reduce(self, x):
        if self.functional:
            made = torch.ops._c10d_functional.all_reduce(x.contiguous(), "sum", self.named)
            return torch.ops._c10d_functional.wait_tensor(made)
        result = x.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(result, group=self.group)
        return result

    def cut(self, x, dim):
        """This rank's slice of what all ranks have, or, with the dimension "flat", of all of its elements."""
        x, dim = (x.reshape(-1), 0) if dim == "flat" else (x, dim)
        return x.narrow(dim, *part(x.shape[dim], self.ranks, self.rank))

    def gather(self, x, dim, side):
        """The whole of slices along a dimension, of which it has `side`."""
        longest = -(-side // self.ranks)
        front = x.movedim(dim, 0)
        padded = torch.cat([front, front.new_zeros([longest - front.shape[0], *front.shape[1:]])
                            ]) if side % self.ranks else front
        if self.functional:
            made = torch.ops._c10d_functional.all_gather_into_tensor(padded.contiguous(), self.ranks,
                                                                     self.named)
            parts = torch.ops._c10d_functional.wait_tensor(made).split(longest)
        else:
            parts = [
                torch.empty_like(padded, memory_format=torch.contiguous_format) for _ in range(self.ranks)
            ]
            dist.all_gather(parts, padded.contiguous(), group=self.group)
        return torch.cat([each[:part(side, self.ranks, rank)[1]] for rank, each in enumerate(parts)]).movedim(
            0, dim)

    def all_to_all_v(self, x, counts, rows):
        """AllToAllV of docs/workloads.md. All ranks gather all rows: no compiler traces lengths that come
        from data."""
        sent = self.gather(counts.long().clamp(min=0).reshape(1, self.ranks, -1).sum(2), 0,
                           self.ranks)  # by sender and receiver
        everyone = self.gather(x.unsqueeze(0), 0, self.ranks)
        arriving, before = sent[:, self.rank].contiguous(), (sent.cumsum(1) - sent)[:, self.rank]
        ends, row = arriving.cumsum(0), torch.arange(rows, device=x.device)
        source = torch.searchsorted(ends, row, right=True)
        sender = source.clamp(max=self.ranks - 1)
        place = row - (ends - arriving)[sender] + before[sender]
        found = ((source < self.ranks) & (place < x.shape[0])).reshape(-1, *[1] * (x.dim() - 1))
        return torch.where(found, everyone[sender, place.clamp(max=x.shape[0] - 1)],
                           torch.zeros((), dtype=x.dtype, device=x.device))

    def all_to_all(self, x):
        if self.functional:
            lengths = [x.shape[0] // self.ranks] * self.ranks
            return torch.ops._c10d_functional.wait_tensor(
                torch.ops._c10d_functional.all_to_all_single(x.contiguous(), lengths, lengths, self.named))
        everyone = [torch.empty_like(x) for _ in range(self.ranks)]  # gloo of PyTorch 1 has no AllToAll
        dist.all_gather(everyone, x.contiguous(), group=self.group)
        return torch.cat([self.cut(each, 0) for each in everyone])
