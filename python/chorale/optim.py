"""Optimizers of data parallel training: gradients are reduced bucket by bucket during the backward pass, and
step() updates a rank's slice and gathers the parameters in one call. A rank keeps the state of its slice
only. Instead of DistributedDataParallel and an optimizer:

    model = ...                                            # not wrapped; parameters become those of rank 0
    optimizer = chorale.optim.FusedAdam(model.parameters(), lr=1e-3)
    loss = ...; loss.backward(); optimizer.step(); optimizer.zero_grad()

Between backward() and step() p.grad is the gradient of this rank's part of the batch. Of several backward
passes before a step, all but the last are best within optimizer.no_sync(). optimizer.clip_grad_norm_() clips
by the norm of the average over all ranks; step() raises where something else, such as
torch.nn.utils.clip_grad_norm_, has changed gradients in place. The constructor, step(), clip_grad_norm_(),
state_dict() and add_param_group() are called by all ranks.

order="by-index" adds gradients along the tree of pairs, pairs of pairs, ...: of 1, 2, 4, ... ranks that share
the same micro-batches (one backward pass each, all but the last within no_sync()) each gets the same bits.
sum="once" forms each sum in one place, in the order of the ranks, and rounds it once; wire="bf16" or "fp16"
has gradients of float32 cross in that type.

Programs are those of chorale.updates; `machine` is where the ranks are ('chorale topology list').
"""

from chorale.fused import MASTER, Fused


class FusedAdam(Fused):
    """Adam, as torch.optim.Adam over gradients that DistributedDataParallel has averaged. A parameter that
    has a gradient on no rank is left alone, and so is its state."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, **options):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay), **options)


class FusedAdamW(FusedAdam):
    """Adam with decoupled weight decay, as torch.optim.AdamW."""

    rule = "adamw"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, **options):
        super().__init__(params, lr, betas, eps, weight_decay, **options)


class FusedLAMB(FusedAdam):
    """LAMB: each tensor of parameters has a trust ratio of its own."""

    rule = "lamb"

    def tensors_of(self, params):
        return [[p] for p in params]


class FusedSGD(Fused):
    """SGD, as torch.optim.SGD."""

    rule, names = "sgd", {"momentum_buffer": "b"}

    def __init__(self,
                 params,
                 lr=1e-3,
                 momentum=0.0,
                 dampening=0.0,
                 weight_decay=0.0,
                 nesterov=False,
                 **options):
        super().__init__(
            params,
            dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov),
            **options)

    def checked(self, group):
        if not all(group[name] >= 0 for name in ("lr", "momentum", "weight_decay")):
            raise ValueError("lr, momentum and weight_decay are not negative")
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ValueError("nesterov needs a momentum, and no dampening")

    def scalars(self, steps, group):
        momentum, nesterov = group["momentum"], group["nesterov"]
        return dict(momentum=momentum,
                    fresh=1.0 if steps == 1 else 1 - group["dampening"],
                    of_gradient=1.0 if nesterov or not momentum else 0.0,
                    of_momentum=momentum if nesterov else 1.0 if momentum else 0.0)

    def steps_of(self, entry):
        return int(entry.get("step", entry.get("momentum_buffer") is not None))

    def complete(self, entry, p):
        buffer = entry.get("momentum_buffer")
        return set(entry) <= {"step", "momentum_buffer", *MASTER} and (buffer is None
                                                                       or buffer.shape == p.shape)
