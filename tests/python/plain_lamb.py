"""LAMB (You et al.), to hold chorale.optim.FusedLAMB against."""
import torch


class PlainLAMB(torch.optim.Optimizer):
    """By the paper's algorithm 2, one tensor after the other, over averaged gradients."""

    def __init__(self, params, lr, eps=1e-8, weight_decay=0.0, betas=(0.9, 0.999)):
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                s = self.state[p]
                if not s:
                    s.update(step=0, exp_avg=torch.zeros_like(p), exp_avg_sq=torch.zeros_like(p))
                s["step"] += 1
                s["exp_avg"].mul_(beta1).add_(p.grad, alpha=1 - beta1)
                s["exp_avg_sq"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                m, v = s["exp_avg"] / (1 - beta1**s["step"]), s["exp_avg_sq"] / (1 - beta2**s["step"])
                u = m / (v.sqrt() + group["eps"]) + group["weight_decay"] * p
                pn, un = p.norm(), u.norm()
                p.sub_(group["lr"] * (pn / un if pn > 0 and un > 0 else 1.0) * u)
