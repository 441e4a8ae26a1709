"""The programs of the optimizers. One reduces the gradients of a bucket to a rank's slice of their sum;
another updates that slice and gathers the parameters. Parameters of 16 bits have a master of fp32, of which a
rank keeps its slice.

clip is what that sum is multiplied by, one over the ranks where nothing is clipped; corrections are 1 -
beta1^t and the root of 1 - beta2^t; rest1 and rest2 are 1 - beta1 and 1 - beta2, which have more digits when
they are not computed from rounded betas."""

ADAM = "lr beta1 beta2 rest1 rest2 eps decay clip correction1 correction2"
MOMENTS = ["m_ = Update(m, beta1 * m + rest1 * c)", "v_ = Update(v, beta2 * v + rest2 * c * c)"]
STEP = "lr / correction1 * (m_ / (Sqrt(v_) / correction2 + eps))"
NORMS = ['qq = AllReduce("+", ReduceTensor("+", q * q))', 'ss = AllReduce("+", ReduceTensor("+", {s} * {s}))',
         "ratio = Select(ss > 0, Select(qq > 0, Sqrt(ss) / Sqrt(qq), 1), 1)"]
# Of each: states, scalars, statements, the new parameter of the old one {s}, and the kernels; {new} are the
# statements that store it.
RULES = {
    # Adam (Kingma and Ba, 2015) as torch.optim.Adam has it, and with decoupled weight decay (Loshchilov and
    # Hutter, 2019).
    "adam": ("m v", ADAM, ["c = d * clip + decay * {s}",
                           *MOMENTS], "{s} - " + STEP, "fuse(update; c, m_, v_, {new})"),
    "adamw": ("m v", ADAM, ["c = d * clip",
                            *MOMENTS], "(1 - lr * decay) * {s} - " + STEP, "fuse(update; c, m_, v_, {new})"),
    # LAMB (You et al., 2020), for one tensor of parameters, whose norms say how far the step goes.
    "lamb": (
        "m v", ADAM, [
            "c = d * clip", *MOMENTS, "q = m_ / correction1 / (Sqrt(v_) / correction2 + eps) + decay * {s}",
            *NORMS
        ], "{s} - lr * ratio * q",
        "fuse(moments; c, m_, v_, q, qq_1, qq_2, ss_1, ss_2); fuse(norms; qq, ss); fuse(update; ratio, {new})"
    ),
    # SGD as torch.optim.SGD has it: of_gradient and of_momentum are what of both goes into the step.
    "sgd": ("b", "lr momentum fresh decay clip of_gradient of_momentum", [
        "c = d * clip + decay * {s}", "b_ = Update(b, momentum * b + fresh * c)"
    ], "{s} - lr * (of_gradient * c + of_momentum * b_)", "fuse(update; c, b_, {new})"),
}


WIRES = (None, "bf16", "fp16")


def reduction(kind, wire=None):
    """The program and its schedule: a slice of the sum of what the ranks have. The update divides, with its
    clip. Gradients of fp32 cross in the type `wire`, if there is one."""
    if kind == "fp32" and wire is not None:
        lines, script = ([f"h = Cast({wire}, g)", 'sum = ReduceScatter("+", h)', "d = Cast(fp32, sum)"], "")
    else:
        lines, script = (['d = ReduceScatter("+", g)'],
                         "") if kind == "fp32" else (['sum = ReduceScatter("+", g)', "d = Cast(fp32, sum)"],
                                                     "fuse(reduce; sum, d)")
    return "\n".join(
        ["workload reduction", "size N = 4194304", f"Tensor g({kind}, [N], Local)", *lines, "return d",
         ""]), script


def update(rule, kind):
    """The program and its schedule, for parameters of a type."""
    states, scalars, lines, new, script = RULES[rule]
    master, slice_ = kind != "fp32", "s" if kind == "fp32" else "w"
    tensors = [
        f"Tensor p({kind}, [N], Replicated)",
        *(f"Tensor {name}(fp32, [N], Sliced(0)) state" for name in (["w"] if master else []) + states.split())
    ]
    stored = [f"w_ = Update(w, {new})", f"u = Cast({kind}, w_)"] if master else [f"u = {new}"]
    body = ["s = Slice(p)"] * (not master) + lines + stored + ["p_ = Update(p, AllGather(u))"]
    return "\n".join([
        f"workload {rule}", "size N = 4194304", "Tensor d(fp32, [N], Sliced(0))", *tensors,
        *(f"Scalar {name}(fp32)" for name in scalars.split()),
        *(line.replace("{s}", slice_) for line in body), "return p_", ""
    ]), script.replace("{new}", "w_, u, p_" if master else "u, p_")
