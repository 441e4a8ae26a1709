#!/usr/bin/env python3
"""Training with chorale.optim against DistributedDataParallel with PyTorch's own Adam, and a plain LAMB: a
small transformer that learns to continue the text of docs/, and a small convolutional network that
distinguishes patterns. For each: losses of both, how far they are apart, what state a rank keeps,
milliseconds of a step, and of its optimizer (with the reduction of gradients, which DDP does while it
differentiates). Training amplifies rounding: so DDP is run again from parameters of which each is moved to
the next number, and ours is to be no further from it than that is. Started without a rank, it starts
itself as this many processes over gloo.

Usage: train.py CHORALE [--steps 200] [--ranks 2]
"""
import argparse
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(usage=__doc__)
parser.add_argument("chorale")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--ranks", type=int, default=2)
arguments = parser.parse_args()
root = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(root / "python"), str(root / "tests" / "python")]
try:
    import torch
    import torch.distributed as dist
except ImportError:
    print("SKIPPED: there is no PyTorch (Debian: python3-torch)")
    sys.exit(77)

if "RANK" not in os.environ:
    with socket.socket() as probe, tempfile.TemporaryDirectory(prefix="chorale_train_") as folder:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        processes = [subprocess.Popen([sys.executable, *sys.argv],
                                      env={**os.environ, "RANK": str(n), "WORLD_SIZE": str(arguments.ranks), "MASTER_ADDR": "127.0.0.1",
                                           "MASTER_PORT": str(port), "CHORALE": str(pathlib.Path(arguments.chorale).resolve()), "OMP_NUM_THREADS": "1",
                                           "CHORALE_TRAIN": folder}) for n in range(arguments.ranks)]
        sys.exit(max(abs(process.wait()) for process in processes))

from chorale import optim  # noqa: E402
from plain_lamb import PlainLAMB  # noqa: E402

dist.init_process_group("gloo")
torch.set_num_threads(1)
rank, folder = dist.get_rank(), os.environ["CHORALE_TRAIN"]
LENGTH = 32


class Transformer(torch.nn.Module):
    """Bytes in, the next byte out."""

    def __init__(self, width=64, layers=2):
        super().__init__()
        self.tokens, self.places = torch.nn.Embedding(256, width), torch.nn.Embedding(LENGTH, width)
        layer = torch.nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.layers, self.out = torch.nn.TransformerEncoder(layer, layers), torch.nn.Linear(width, 256)
        self.register_buffer("later", torch.triu(torch.full((LENGTH, LENGTH), float("-inf")), 1))

    def forward(self, x):
        return self.out(self.layers(self.tokens(x) + self.places.weight, mask=self.later)).flatten(0, 1)


def convolutional():
    return torch.nn.Sequential(torch.nn.Conv2d(1, 16, 5, padding=2), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Conv2d(16, 32, 5, padding=2),
                               torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32 * 36, 64), torch.nn.ReLU(),
                               torch.nn.Linear(64, 8))


TEXT = torch.tensor(list("".join(path.read_text() for path in sorted((root / "docs").glob("*.md"))).encode()))  # once: files may change


def texts(generator):
    while True:
        at = torch.randint(len(TEXT) - LENGTH - 1, (8, 1), generator=generator) + torch.arange(LENGTH + 1)
        yield TEXT[at[:, :-1]], TEXT[at[:, 1:]].flatten()


def stripes(generator):
    """In one of eight directions, of random width and phase, under noise."""
    y, x = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    while True:
        kind = torch.randint(8, (16,), generator=generator)
        angle = kind * (torch.pi / 8)
        wave, phase = torch.rand(16, generator=generator) * 0.8 + 0.5, torch.rand(16, generator=generator) * 6.3
        shape = (16, 1, 1)
        image = torch.sin((x * angle.cos().view(shape) + y * angle.sin().view(shape)) * wave.view(shape) + phase.view(shape))
        yield (image + torch.randn(16, 24, 24, generator=generator)).unsqueeze(1), kind


def trained(net, optimizer, batches):
    """Losses, seconds of each step, and of its optimizer."""
    losses, whole, updates = [], [], []
    for _ in range(arguments.steps):
        x, y = next(batches)
        started = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        middle = time.perf_counter()
        optimizer.step()
        ended = time.perf_counter()
        losses.append(loss.item())
        whole.append(ended - started)
        updates.append(ended - middle)
    return torch.tensor(losses), 1e3 * statistics.median(whole), 1e3 * statistics.median(updates)


def compare(name, model, data, plain, fused):
    def fresh():
        torch.manual_seed(3)
        return model(), data(torch.Generator().manual_seed(100 + rank))

    net, batches = fresh()
    optimizer = plain(net.parameters())
    want, whole, update = trained(torch.nn.parallel.DistributedDataParallel(net), optimizer, batches)
    kept = sum(value.numel() for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value) and value.dim() > 0)
    net, batches = fresh()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.nextafter(p, torch.full_like(p, 10.0)))
    moved, _, _ = trained(torch.nn.parallel.DistributedDataParallel(net), plain(net.parameters()), batches)
    net, batches = fresh()
    optimizer = fused(net.parameters())
    have, our_whole, our_update = trained(net, optimizer, batches)
    ours = sum(each.numel() for rows in optimizer.rows for row in rows for each in row.states.values())
    apart = torch.stack([(other - want).abs() / want.abs() for other in (have, moved)])
    apart = torch.stack([apart[:, :20].amax(1), apart.amax(1)])  # first steps, all; ours, moved
    dist.all_reduce(apart, dist.ReduceOp.MAX)
    if rank == 0:
        count = sum(p.numel() for p in net.parameters())
        print(f"{name}: {count} parameters in {len(list(net.parameters()))} tensors, {arguments.steps} steps on {arguments.ranks} ranks\n"
              f"  losses {want[0]:.4f} to {want[-20:].mean():.4f}, mean of the last 20; ours {have[-20:].mean():.4f}, DDP moved by a rounding {moved[-20:].mean():.4f}\n"
              f"  apart from DDP, of a loss: ours at most {apart[0, 0]:.1e} in 20 steps, {apart[1, 0]:.1e} in all; DDP moved by a rounding {apart[0, 1]:.1e}, {apart[1, 1]:.1e}\n"
              f"  elements of state a rank {ours}, DDP's {kept}; a step {our_whole:.1f} ms, DDP's {whole:.1f}; of it after the backward pass {our_update:.1f}, {update:.1f}",
              flush=True)


for name, model, data in [("transformer", Transformer, texts), ("convolutional network", convolutional, stripes)]:
    compare(f"{name}, Adam", model, data, lambda p: torch.optim.Adam(p, lr=1e-3), lambda p: optim.FusedAdam(p, lr=1e-3, directory=folder))
    compare(f"{name}, LAMB", model, data, lambda p: PlainLAMB(p, lr=4e-3, weight_decay=0.01),
            lambda p: optim.FusedLAMB(p, lr=4e-3, weight_decay=0.01, directory=folder))
