"""A model and a system as nccl-extensions' M2N has them, as the question that `chorale reshard` reads.

The model maps names of parameters to {"shape", "dtype"}, the system has "train" and "generation" with
num_gpus and the sizes of tensor, context, expert, data and pipeline parallelism (tp_size, cp_size, ep_size,
dp_size, pp_size). As M2N lays them out: ranks of a stage are consecutive, tensor parallelism the fastest; the
trainer's experts are over ep_size ranks that share a stage with its other axes, whole; projections are cut by
columns or rows, vocabularies by rows; layers are cut into stages evenly, what is of no layer is in the last
one, embeddings in the first.

Usage: python3 -m chorale.m2n MODEL SYSTEM [--rollout-from RANK] [--layers N]     prints the question

--rollout-from: the first rank of the rollout (behind the trainer's). --layers: repeat the layers of the model
up to that number. """
import argparse
import json
import pathlib
import re
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .errors import InputError

_COLUMNS = re.compile(r"(q|k|v|gate|up|q_a|q_b|kv_b)_proj\.weight$|kv_a_proj_with_mqa\.weight$")
_ROWS = re.compile(r"(o|down)_proj\.weight$")
_VOCABULARY = re.compile(r"(embed_tokens|lm_head)\.weight")
_LAYER = re.compile(r"layers\.(\d+)")
_EXPERT = re.compile(r"(.+\.experts)\.\d+\.(.+)")
_BYTES = {
    "F32": 4,
    "I32": 4,
    "F16": 2,
    "BF16": 2,
    "I16": 2,
    "I64": 8,
    "F64": 8,
    "I8": 1,
    "U8": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1
}


def _size(system: Mapping[str, Any], side: str, name: str) -> int:
    value = system[side].get(name, 1) if isinstance(system.get(side), dict) else None
    if not isinstance(value, int) or value < 1:
        raise InputError(f"{side}: {name}: is not a positive integer; give a system as M2N has it")
    return value


def _grouped(model: Mapping[str, Any]) -> Dict[str, Tuple[List[int], int]]:
    """Shape and bytes of an element by name; experts of one layer are one tensor, experts first."""
    found: Dict[str, Tuple[List[int], int]] = {}
    for name, entry in model.items():
        shape, kind = (entry.get("shape"), entry.get("dtype", "BF16")) if isinstance(entry, dict) else (None,
                                                                                                        "")
        if not isinstance(shape, list) or not shape or not all(
                isinstance(side, int) and side > 0 for side in shape) or kind not in _BYTES:
            raise InputError(f"{name}: has no shape or type; give a model as M2N has it")
        expert = _EXPERT.fullmatch(name)
        if not expert:
            found[name] = (shape, _BYTES[kind])
            continue
        all_experts = found.setdefault(f"{expert[1]}.{expert[2]}", ([0, *shape], _BYTES[kind]))
        all_experts[0][0] += 1
    return found


def _layout(first: int, stage_ranks: int, shards: int, dimension: Optional[int]) -> Dict[str, Any]:
    """A tensor of one stage, cut into `shards` along the dimension, which consecutive ranks have."""
    ranks = list(range(first, first + stage_ranks))
    if dimension is None or shards == 1:
        return {"ranks": ranks, "mesh": [stage_ranks], "placements": ["replicate"]}
    return {
        "ranks": ranks,
        "mesh": [stage_ranks // shards, shards],
        "placements": ["replicate", f"shard({dimension})"]
    }


def question(model: Mapping[str, Any],
             system: Mapping[str, Any],
             *,
             rollout_from: Optional[int] = None,
             layers: int = 0) -> Dict[str, Any]:
    """The question of `chorale reshard` as a mapping (docs/formats.md); InputError where a model or a system
    is not one."""
    sizes = {
        side: {
            name: _size(system, side, name)
            for name in ("num_gpus", "tp_size", "cp_size", "ep_size", "pp_size")
        }
        for side in ("train", "generation")
    }
    for side, of in sizes.items():
        if of["num_gpus"] % (of["pp_size"] * of["tp_size"] *
                             of["cp_size"]) or of["num_gpus"] % (of["pp_size"] * of["ep_size"]):
            raise InputError(f"{side}: num_gpus: its axes do not divide {of['num_gpus']}")
    if sizes["generation"]["ep_size"] > 1:
        raise InputError("generation: ep_size: a rollout cuts experts by tensor parallelism here; use 1")
    tensors = _grouped(model)
    numbers = [int(match[1]) for match in map(_LAYER.search, tensors) if match]
    known = max(numbers, default=-1) + 1
    count = max(known, layers)
    starts = {"train": 0, "generation": sizes["train"]["num_gpus"] if rollout_from is None else rollout_from}
    alike: Dict[str, Dict[str, Any]] = {}
    for name, (shape, width) in tensors.items():
        match = _LAYER.search(name)
        for layer in range(int(match[1]), count, max(known, 1)) if match else [None]:
            sides = {}
            for side, of in sizes.items():
                stages, ranks = of["pp_size"], of["num_gpus"] // of["pp_size"]
                stage = (layer * stages // count if layer is not None else
                 0 if "embed_tokens" in name else stages - 1)
                cut = None if len(shape) < 2 else 0 if _COLUMNS.search(name) or _VOCABULARY.search(
                    name) else 1 if _ROWS.search(name) else None
                shards = of["tp_size"]
                if ".experts." in name:
                    cut, shards = (0,
                                   of["ep_size"]) if side == "train" else (None if cut is None else cut + 1,
                                                                           shards)
                # Context parallelism lies between tensor and data parallelism, and replicates.
                sides[side] = _layout(starts[side] + stage * ranks, ranks, shards, cut)
            pattern = _LAYER.sub("layers.*", name)
            tensor = {
                "name": pattern,
                "shape": shape,
                "element_bytes": width,
                "count": 1,
                "from": sides["train"],
                "to": sides["generation"]
            }
            key = json.dumps(dict(tensor, count=0))
            if key in alike:
                alike[key]["count"] += 1
            else:
                alike[key] = tensor
    if not alike:
        raise InputError("model: is empty; give a model as M2N has it")
    whole = [{
        "ranks": list(range(starts[side], starts[side] + of["num_gpus"])),
        "mesh": [of["num_gpus"]]
    } for side, of in sizes.items()]
    return {"reshard": "M2N", "from": whole[0], "to": whole[1], "tensors": list(alike.values())}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="chorale.m2n", description="A model and a system of M2N as the question of chorale reshard")
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("system", type=pathlib.Path)
    parser.add_argument("--rollout-from", type=int)
    parser.add_argument("--layers", type=int, default=0)
    options = parser.parse_args()
    try:
        read = [json.loads(file.read_text()) for file in (options.model, options.system)]
        if not all(isinstance(each, dict) for each in read):
            raise InputError("model, system: are not objects; give files as M2N has them")
        print(json.dumps(question(*read, rollout_from=options.rollout_from, layers=options.layers), indent=1))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, InputError) as error:
        parser.exit(2, f"chorale.m2n: error: {' '.join(str(error).split())}\n")


if __name__ == "__main__":
    main()
