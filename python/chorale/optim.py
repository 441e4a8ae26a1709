"""Optimizers of data parallel training that reduce gradients, update, and gather parameters in one call: each rank keeps the
state of its slice only. In the place of DistributedDataParallel and an optimizer:

    model = ...                                            # the same on every rank; not wrapped
    optimizer = chorale.optim.FusedAdam(model.parameters(), lr=1e-3)
    loss = ...; loss.backward(); optimizer.step(); optimizer.zero_grad()

Programs and schedules are python/chorale/programs; `machine` is where the ranks are ('chorale topology list').
"""

import math
import pathlib

import torch
import torch.distributed as dist

from chorale import workload

PROGRAMS = pathlib.Path(__file__).parent / "programs"


class _Fused(torch.optim.Optimizer):
    """Parameters of a group lie in one tensor, `flat`, of which they are views, and so do their gradients."""

    program = ""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, machine=None, process_group=None, directory=None):
        if not 0 <= lr or not 0 <= eps or not 0 <= weight_decay or not all(0 <= beta < 1 for beta in betas):
            raise ValueError("lr, eps and weight_decay are not negative, and betas in [0, 1)")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))
        ranks = dist.get_world_size(process_group)
        script = (PROGRAMS / f"{self.program}.script").read_text() if ranks > 1 else ""
        folder = workload.built(PROGRAMS / f"{self.program}.chorale", machine or f"full:{ranks}", ranks, apply=script, directory=directory)
        self.update = workload.Workload(folder, process_group)
        self.lists = [self.gathered(group["params"]) for group in self.param_groups]
        self.steps = 0

    def tensors_of(self, params):
        """What one call of the program is for: lists of parameters."""
        raise NotImplementedError

    def gathered(self, params):
        rows = []
        for members in self.tensors_of(params):
            if any(p.dtype != torch.float32 or p.device.type != "cpu" for p in members):
                raise ValueError("parameters are float32 on the CPU")
            count = sum(p.numel() for p in members)
            flat, grads = torch.empty(count), torch.zeros(count)
            views, at = [], 0
            for p in members:
                view = flat[at:at + p.numel()].view_as(p)
                view.copy_(p.data)
                p.data = view
                views.append(grads[at:at + p.numel()].view_as(p))
                at += p.numel()
            own = self.update.elements("m", (count,))
            rows.append(dict(params=members, flat=flat, grads=grads, views=views, m=torch.zeros(own), v=torch.zeros(own)))
        return rows

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self.steps += 1
        for group, rows in zip(self.param_groups, self.lists):
            beta1, beta2 = group["betas"]
            for row in rows:
                for p, view in zip(row["params"], row["views"]):
                    if p.grad is None:
                        view.zero_()
                    elif p.grad.data_ptr() != view.data_ptr():
                        view.copy_(p.grad)
                        p.grad = view  # the next backward pass adds to it where it is
                self.update(g=row["grads"], p=row["flat"], m=row["m"], v=row["v"], lr=group["lr"], beta1=beta1, beta2=beta2,
                            eps=group["eps"], decay=group["weight_decay"], correction1=1 - beta1**self.steps,
                            correction2=math.sqrt(1 - beta2**self.steps))
        return loss

    def zero_grad(self, set_to_none=False):
        for rows in self.lists:
            for row in rows:
                if set_to_none:
                    for p in row["params"]:
                        p.grad = None
                else:
                    row["grads"].zero_()


class FusedAdam(_Fused):
    """Adam, as torch.optim.Adam over gradients that DistributedDataParallel has averaged."""

    program = "adam"

    def tensors_of(self, params):
        return [list(params)]


class FusedLAMB(_Fused):
    """LAMB: each tensor of parameters has a trust ratio of its own."""

    program = "lamb"

    def tensors_of(self, params):
        return [[p] for p in params]
