#!/usr/bin/env python3
"""Weights from a trainer to a rollout: gather and broadcast, direct sends, M2N's ring of nodes, and the plan of
'chorale reshard', over the bound, with the seconds of NICs of each.

    benchmarks/reshard.py build/release/bin/chorale [--seconds S] [--m2n FOLDER]

First pairs of small layouts, of one layer of 4096 x 4096 and 4096 x 16384 of 2 bytes. Then the nine systems that
nccl-extensions' M2N ships (its nccl_m2n/benchmarks/configs; FOLDER, where given, has them: each is compared with
the sizes here), with the models that they name: Qwen3-32B, DeepSeek-V3 (its layer of 256 experts, 61 times),
Qwen3-235B (94 layers of 128 experts). On named machines, the rollout behind the trainer; those of GB200 also on
nodes of 8 H100, where all nodes are linked by NICs alone. CPU seconds are of all that the row takes.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from chorale.m2n import question  # noqa: E402

R, S0, S1 = "replicate", "shard(0)", "shard(1)"
# Machine, mesh and placements before (first ranks), after (ranks from `first` on).
CASES = [
    ("dgx-h100:2", [2, 4], [R, S0], 8, [8], [S0]),
    ("dgx-h100:2", [8], [S0], 8, [2, 4], [R, S0]),
    ("dgx-h100:2", [2, 4], [R, S0], 8, [4, 2], [R, S1]),
    ("dgx-h100:2", [2, 8], [S0, S1], 0, [4, 4], [R, S0]),
    ("dgx-h100:4", [16], [S0], 16, [4, 4], [R, S0]),
    ("dgx-h100:4", [2, 8], [R, S0], 16, [2, 8], [R, S1]),
    ("dgx-a100:2", [2, 4], [R, S0], 8, [8], [S0]),
    ("torus:4x4", [4, 4], [S0, S1], 0, [16], [S1]),
    ("mesh:2x4", [4], [S0], 4, [2, 2], [R, S0]),
]


def dense(hidden, query, key_value):
    """Shapes of a layer's attention and norms."""
    return {"input_layernorm.weight": [hidden], "post_attention_layernorm.weight": [hidden], "self_attn.q_proj.weight": [query, hidden],
            "self_attn.k_proj.weight": [key_value, hidden], "self_attn.v_proj.weight": [key_value, hidden], "self_attn.o_proj.weight": [hidden, query],
            "self_attn.q_norm.weight": [128], "self_attn.k_norm.weight": [128]}


def mlp(hidden, inner, prefix="mlp."):
    return {f"{prefix}gate_proj.weight": [inner, hidden], f"{prefix}up_proj.weight": [inner, hidden], f"{prefix}down_proj.weight": [hidden, inner]}


def experts(count, hidden, inner):
    return {name: shape for e in range(count) for name, shape in mlp(hidden, inner, f"mlp.experts.{e}.").items()}


def scaled(shapes):
    """Weights of fp8, each with a scale for 128 x 128 of them."""
    named = {name: {"shape": shape, "dtype": "F8_E4M3"} for name, shape in shapes.items()}
    named.update({f"{name}_scale_inv": {"shape": [side // 128 for side in shape], "dtype": "F32"} for name, shape in shapes.items()})
    return named


def bf16(shapes):
    return {name: {"shape": shape, "dtype": "BF16"} for name, shape in shapes.items()}


def model(layer, layers, more=None):
    return {**{f"model.layers.{n}.{name}": entry for n in range(layers) for name, entry in layer.items()}, **(more or {})}


def vocabulary(size, hidden):
    return bf16({"model.embed_tokens.weight": [size, hidden], "lm_head.weight": [size, hidden], "model.norm.weight": [hidden]})


def models():
    deepseek = {**bf16({"input_layernorm.weight": [7168], "post_attention_layernorm.weight": [7168], "mlp.gate.weight": [256, 7168]}),
                "mlp.gate.e_score_correction_bias": {"shape": [256], "dtype": "F32"}, **scaled(experts(256, 7168, 2048)),
                **scaled(mlp(7168, 2048, "mlp.shared_experts."))}
    return {"Qwen3-32B": (model(bf16({**dense(5120, 8192, 1024), **mlp(5120, 25600)}), 64, vocabulary(151936, 5120)), 64),
            "DeepSeek-V3": (model(deepseek, 1), 61),
            "Qwen3-235B": (model(bf16({**dense(4096, 8192, 512), "mlp.gate.weight": [128, 4096], **experts(128, 4096, 1536)}), 1,
                                 vocabulary(151936, 4096)), 94)}


def sides(gpus, tp, cp, ep, pp):
    return {"num_gpus": gpus, "tp_size": tp, "cp_size": cp, "ep_size": ep, "pp_size": pp}


# File of M2N, model, trainer, rollout, machines.
SYSTEMS = [
    ("qwen3-32b-dp1-tp1-to-dp1-tp1", "Qwen3-32B", sides(1, 1, 1, 1, 1), sides(1, 1, 1, 1, 1), ["dgx-h100:1"]),
    ("qwen3-32b-dp1-tp2-to-dp1-tp2", "Qwen3-32B", sides(2, 2, 1, 1, 1), sides(2, 2, 1, 1, 1), ["dgx-h100:1"]),
    ("qwen3-32b-dp1-tp4-to-dp1-tp4", "Qwen3-32B", sides(4, 4, 1, 1, 1), sides(4, 4, 1, 1, 1), ["dgx-h100:1"]),
    ("qwen3-32b-tp2pp4dp2-to-tp1dp16-32gpus-gb200", "Qwen3-32B", sides(16, 2, 1, 1, 4), sides(16, 1, 1, 1, 1), ["gb200-nvl72:1", "dgx-h100:4"]),
    ("qwen3-32b-tp4pp4dp2-to-tp4dp8-64gpus-h100", "Qwen3-32B", sides(32, 4, 1, 1, 4), sides(32, 4, 1, 1, 1), ["dgx-h100:8"]),
    ("dsv3-pp-64gpus-gb200", "DeepSeek-V3", sides(32, 1, 1, 16, 2), sides(32, 8, 1, 1, 1), ["gb200-nvl72:1", "dgx-h100:8"]),
    ("dsv3-128gpus-gb200", "DeepSeek-V3", sides(64, 1, 1, 16, 4), sides(64, 8, 1, 1, 1), ["gb200-nvl72:2", "dgx-h100:16"]),
    ("qwen235b-TP2CP2PP4EP16-128gpus-gb200", "Qwen3-235B", sides(64, 2, 2, 16, 4), sides(64, 8, 1, 1, 1), ["gb200-nvl72:2", "dgx-h100:16"]),
    ("dsv3-256gpus-gb200", "DeepSeek-V3", sides(128, 1, 1, 16, 8), sides(128, 8, 1, 1, 1), ["gb200-nvl72:4", "dgx-h100:32"]),
]


def small_question(mesh, placed, first, to_mesh, to_placed):
    sizes = [1, 1]
    for n, side in ((0, mesh), (1, to_mesh)):
        for each in side:
            sizes[n] *= each
    tensors = [{"name": name, "shape": shape, "from": placed, "to": to_placed} for name, shape in (("a", [4096, 4096]), ("m", [4096, 16384]))]
    return {"reshard": "layer", "from": {"ranks": list(range(sizes[0])), "mesh": mesh},
            "to": {"ranks": list(range(first, first + sizes[1])), "mesh": to_mesh}, "tensors": tensors}


def as_shipped(folder, name, trainer, rollout):
    shipped = json.loads((folder / f"{name}.json").read_text())
    for side, here in (("train", trainer), ("generation", rollout)):
        assert {key: shipped[side][key] for key in here} == here, (name, side, shipped[side])


def row(options, folder, machine, words, asked):
    (folder / "q.json").write_text(json.dumps(asked))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    text = subprocess.run([options.chorale, "reshard", machine, folder / "q.json", "--search-time", str(options.seconds), "--json", "-", "-q"],
                          capture_output=True, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    read = json.loads(text)
    found = {each["name"]: f"{each['us'] / read['bound_us']:.3f}, {each['link_seconds']:.3g} s" for each in read["methods"]}
    cells = [found.get(name, "-") for name in ("gather and broadcast", "direct sends", "ring of nodes", "this plan")]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{machine:13} {words:45} {seconds:6.1f} {cells[0]:>17} {cells[1]:>17} {cells[2]:>17} {cells[3]:>17} {read['bound_us'] / 1e3:>10.4g} ms", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chorale")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--m2n", type=pathlib.Path, help="nccl_m2n/benchmarks/configs/system_configs of nccl-extensions")
    options = parser.parse_args()
    commit = subprocess.run(["git", "-C", pathlib.Path(__file__).parent, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True)
    print(f"commit {commit.stdout.strip()}")
    print(f"{options.seconds} s a search; time over the bound, and seconds of NICs (of links, on machines without several nodes)")
    print(f"{'machine':13} {'layouts':45} {'CPU s':>6} {'gather, broadcast':>17} {'direct sends':>17} {'ring of nodes':>17} {'plan':>17} {'bound':>13}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for machine, mesh, placed, first, to_mesh, to_placed in CASES:
            layouts = f"{mesh} {'/'.join(placed)} -> {to_mesh} {'/'.join(to_placed)}".replace("replicate", "R").replace("shard", "S")
            row(options, folder, machine, layouts, small_question(mesh, placed, first, to_mesh, to_placed))
        known = models()
        print("systems of M2N" + ("" if options.m2n else ", sizes NOT compared with its files: no --m2n"))
        for name, of, trainer, rollout, machines in SYSTEMS:
            if options.m2n:
                as_shipped(options.m2n, name, trainer, rollout)
            described, layers = known[of]
            for machine in machines:
                row(options, folder, machine, name, question(described, {"train": trainer, "generation": rollout}, layers=layers))


if __name__ == "__main__":
    main()
