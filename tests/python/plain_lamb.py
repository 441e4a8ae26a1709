"""LAMB (You et al.), to hold chorale.optim.FusedLAMB against."""
import torch


class PlainLAMB(torch.optim.Optimizer):
    """By the paper's algorithm 2, one tensor after the other, over averaged gradients."""

    def __init__(self, params, lr, eps=1e-8, weight_decay=0.0):
        super().__init__(params, dict(lr=lr, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                s = self.state[p]
                if not s:
                    s.update(t=0, m=torch.zeros_like(p), v=torch.zeros_like(p))
                s["t"] += 1
                s["m"].mul_(0.9).add_(p.grad, alpha=0.1)
                s["v"].mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                m, v = s["m"] / (1 - 0.9**s["t"]), s["v"] / (1 - 0.999**s["t"])
                u = m / (v.sqrt() + group["eps"]) + group["weight_decay"] * p
                pn, un = p.norm(), u.norm()
                p.sub_(group["lr"] * (pn / un if pn > 0 and un > 0 else 1.0) * u)
