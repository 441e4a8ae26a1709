"""torch.compile(model, backend="chorale"): collectives, the products beside them and the pointwise operations
and norms behind them become tensor programs (chorale.regions), which are tuned, compiled, and measured
against what PyTorch does there: inductor, if that compiles the rest. The faster one stays; everything else is
left to PyTorch. explain(function)(*arguments) reports what becomes of each collective, and compiles nothing.

Options (torch.compile(.., options={..})):
  replicated  patterns of names of parameters and inputs of which all ranks have the same, as ["*.bias", "x"]
  choose      "measured" (default), "fused": take each program that compiles, or "predicted": take none
  inner       what compiles the rest: "inductor" (default), or "eager"
  machine     where the ranks are; full:RANKS by default
  directory   of compiled programs

All ranks compile the same graphs in the same order, as they call the same collectives."""

import contextlib
import copy
import fnmatch
import hashlib
import json
import pathlib
import re
import subprocess
import tempfile
import time
from operator import getitem

import torch
import torch.distributed as dist
from torch._dynamo.utils import detect_fake_mode
from torch._inductor.pattern_matcher import stable_topological_sort
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily

from chorale import workload
from chorale.agreement import everyone, together
from chorale.explanation import Explanation
from chorale.logs import log
from chorale.regions import COLLECTIVES, EXCHANGES, Left, Region, known_alike, name_of, shape_of

ROUNDS = 15          # of a measurement, of which the median and the least time count
GAIN = 0.97          # of PyTorch's: what both times of a program must reach
CLASSES = 8          # sizes of a graph whose sizes are symbols that have programs of their own
TORCH, PACKAGE = (str(pathlib.Path(each).parent) for each in (torch.__file__, __file__))
_operators = {}      # by text, script and group
_choices = {}        # by text, group and settings: what was chosen, or why nothing was
records = []         # of each collective of the graphs that were compiled: what became of it


class Settings:
    def __init__(self, replicated=(), choose="measured", inner="inductor", machine=None, directory=None):
        if choose not in ("measured", "fused", "predicted") or inner not in ("inductor", "eager"):
            raise ValueError(
                "options of the backend chorale: choose is 'measured' or 'fused' (or 'predicted'), inner "
                "'inductor' or 'eager'"
            )
        self.replicated, self.choose, self.inner, self.machine, self.directory = list(
            replicated), choose, inner, machine, directory
        self.sized = False  # whether a graph is one of several that differ in their sizes


def candidates(file, ranks, machine):
    """Scripts of schedules with predicted microseconds: the best that the tuner predicts, and the best of
    those without an overlap."""
    done = subprocess.run([
        workload.program(), "tune",
        str(file), "--machine", machine, "--ranks",
        str(ranks), "--json", "-", "--quiet"
    ],
                          capture_output=True,
                          text=True)
    if done.returncode not in (0, 3):
        raise Left(f"its program is refused: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    ranked = [found["candidates"][k] for k in found["ranking"]]
    plain = next((each for each in ranked if "overlap(" not in each["script"]), ranked[0])
    return {each["script"]: each["price_us"] for each in (ranked[0], plain)}


def operator_of(text, script, group, settings):
    """An operator of torch.ops.chorale for a program, made once."""
    key = (text, script, group.group_name)
    if key not in _operators:
        name = "fused_" + hashlib.sha256(repr(key).encode()).hexdigest()[:16]
        try:
            loaded = workload.loaded(text, script, group, settings.machine, settings.directory)
        except ConnectionError:
            raise
        except (RuntimeError, OSError) as error:
            raise Left(f"its program was not compiled: {error}") from error
        _operators[key] = loaded.register(name)
    return _operators[key].default


def made_up(node):
    """A tensor as that of a node."""
    value = node.meta["val"]
    made = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype)
    return made.normal_() if value.dtype.is_floating_point else made.zero_()


def alone(region, operands, results):
    """What PyTorch does in a region, as a function of its operands."""
    graph, copies = torch.fx.Graph(), {}
    for node, _, _ in operands:
        if node not in copies:
            copies[node] = graph.placeholder(node.name)
    inside = set(region.nodes) | set(region.names)
    extra = [
        each for node in inside for each in node.all_input_nodes if each not in inside and each not in copies
    ]
    for node in dict.fromkeys(extra):  # such as a part of a bias, which the program reads whole
        copies[node] = graph.placeholder(node.name)
    for node in region.collective.graph.nodes:
        if node in inside:
            copies[node] = graph.node_copy(node, lambda each: copies[each])
    graph.output(tuple(copies[node] for nodes in results.values() for node in nodes))
    return torch.fx.GraphModule(torch.nn.Module(),
                                graph), [node for node in copies if copies[node].op == "placeholder"]


def times_of(functions, group):
    """Of functions that all ranks call: medians and least times in seconds by the slowest rank, in rounds of
    one call of each."""
    times = [[] for _ in functions]
    for number in range(ROUNDS + 1):
        for function, each in zip(functions, times):
            begin = time.perf_counter()
            function()
            if number > 0:
                each.append(time.perf_counter() - begin)
    slowest = torch.tensor(times, dtype=torch.float64)
    dist.all_reduce(slowest, dist.ReduceOp.MAX, group=group)
    return slowest.median(1).values.tolist(), slowest.amin(1).tolist()


def agreed(act, group, title, shares=True):
    """What `act` gives on each rank of a group, or, if it is not shared, here; Left on all where one
    fails."""
    made = []
    try:
        words = together(act if shares else lambda: made.append(act()), group, f"to compile {title}")
        return words if shares else made[0]
    except (ConnectionError, Left):
        raise
    except Exception as why:
        raise Left(str(why) or type(why).__name__) from why


def region_of(node, known, sized, title):
    """The region of a collective and its program(), which all ranks of its group have; if it is `sized`, for
    all numbers of rows of one class."""
    found = []

    def compared():
        region = Region(node, known, sized)
        found.extend((region, region.program()))
        if any(each.meta["val"].device.type != "cpu" for each, _, _ in found[1][1]):
            raise Left("its tensors are on no CPU")
        return hashlib.sha256(region.compared.encode()).hexdigest()

    if len(set(agreed(compared, dist.distributed_c10d._resolve_process_group(node.args[-1]), title))) > 1:
        raise Left("other ranks have another program there")
    return found


def chosen(region, program, settings, title):
    """The operator that takes the place of a region, and members of its record; found once for each text."""
    key = (program[0], region.group, settings.choose, settings.inner, settings.machine)
    if key not in _choices:
        try:
            _choices[key] = choice(region, program, settings, title)
        except Slower as why:
            _choices[key] = why
    if isinstance(_choices[key], Slower):
        raise Slower(str(_choices[key]))
    return _choices[key]


class Slower(Left):
    """A program that is not faster."""


@torch.no_grad()
def choice(region, program, settings, title):
    text, operands, results = program
    group = dist.distributed_c10d._resolve_process_group(region.group)

    def tuned():
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "fused.chorale"
            file.write_text(text)
            return candidates(file, region.ranks, settings.machine or f"full:{region.ranks}")

    found = agreed(tuned, group, title)[0]
    scripts = list(found) if settings.choose == "measured" else list(found)[:1]
    record = {"schedule": scripts[0], "predicted_us": found[scripts[0]], "how": f"as {scripts[0] or 'it is'}"}
    if settings.choose == "predicted":
        return None, {**record, "how": record["how"] + f": {found[scripts[0]]:.4g} us predicted"}
    begin = time.perf_counter()
    operators = [operator_of(text, script, group, settings) for script in scripts]
    took = f"made in {time.perf_counter() - begin:.1f} s"
    if settings.choose == "fused":
        return operators[0], {**record, "how": f"{record['how']}; {took}"}
    values = {node: made_up(node) for node, _, _ in operands}
    own, places = alone(region, operands, results)
    values.update((node, made_up(node)) for node in places if node not in values)
    own_values = [values[node] for node in places]
    if settings.inner == "inductor":
        own = agreed(lambda: by_inductor(own, own_values), group, title, shares=False)
    given = [values[node].reshape(part_of(shape, layout, region.ranks)) for node, shape, layout in operands]
    medians, least = times_of(
        [lambda: own(*own_values), *(lambda operator=each: operator(*given) for each in operators)], group)
    best = min(range(len(scripts)), key=lambda k: medians[k + 1])
    pytorch_ms, ms = max(((1e3 * each[0], 1e3 * each[best + 1]) for each in (medians, least)),
                         key=lambda pair: pair[1] / pair[0])
    how = f"{ms:.2f} ms, PyTorch's {pytorch_ms:.2f} ms; {took}"
    if ms > GAIN * pytorch_ms:
        raise Slower(f"it is not faster as a program: {how}")
    return operators[best], {
        "schedule": scripts[best], "predicted_us": found[scripts[best]], "ms": ms, "pytorch_ms": pytorch_ms,
        "how": f"as {scripts[best] or 'it is'}: {how}"
    }


def by_inductor(module, values):
    """A graph, compiled as inductor compiles what is left to it."""
    from torch._inductor import compile_fx

    with torch._guards.tracing(None):
        return compile_fx.compile_fx(module, values)


def part_of(shape, layout, ranks):
    cut = re.fullmatch(r"Sliced\((\d)\)", layout)
    return [side // ranks if cut and k == int(cut[1]) else int(side) for k, side in enumerate(shape)]


def put_in(graph, region, operator, operands, results):
    """The operator in place of the region. Returns the nodes of results of which all ranks of its group have
    the same, with their digests."""
    fake = detect_fake_mode([node.meta.get("val") for node in graph.nodes])

    def emit(target, *args):
        node = graph.call_function(target, args)
        with fake:
            node.meta["val"] = target(*torch.fx.map_arg(args, lambda each: each.meta["val"]))
        return node

    inside, alike = set(region.nodes) | set(region.names), {}
    order = {node: k for k, node in enumerate(graph.nodes)}
    with graph.inserting_after(max((node for node, _, _ in operands), key=order.get)):
        anchor = graph.call_function(torch.ops.aten.detach.default,
                                     (operands[0][0], ))  # what is made comes before it, in order
    with graph.inserting_before(anchor):
        reshaped = []
        for node, shape, layout in operands:
            shape = part_of(shape, layout, region.ranks)
            reshaped.append(node if shape_of(node) ==
                            shape else emit(torch.ops.aten.reshape.default, node, shape))
        made = emit(operator, *reshaped)
        made.meta["chorale"] = True
        outputs = [made]
        if len(results) > 1:
            outputs = []
            for k in range(len(results)):
                outputs.append(graph.call_function(getitem, (made, k)))
                outputs[-1].meta["val"] = made.meta["val"][k]
        for output, nodes in zip(outputs, results.values()):
            for node in nodes:
                other, value = output, node.meta["val"]
                if shape_of(output) != shape_of(node):
                    other = emit(torch.ops.aten.reshape.default, output, shape_of(node))
                if other.meta["val"].dtype != value.dtype:  # the language computed in a wider type
                    other = emit(torch.ops.prims.convert_element_type.default, other, value.dtype)
                node.replace_all_uses_with(other)
                if node in region.known:
                    alike[other] = region.known[node]
    graph.erase_node(anchor)
    for node in sorted(inside, key=order.get, reverse=True):
        if not node.users:
            graph.erase_node(node)
    return alike


@contextlib.contextmanager
def communicating():
    """While a graph is compiled: tensors are real, and collectives release the GIL. The dispatcher in Python
    keeps it, while gloo's thread waits for it to free the tensors of the collective before."""
    with unset_fake_temporarily(), torch._C._DisablePythonDispatcher():
        yield


def proven_alike(graph, known, group):
    """Nodes of which all ranks of a group have the same: those whose digests are on all of its ranks."""
    mine = known_alike(graph, known, group)
    of = dist.distributed_c10d._resolve_process_group(group)
    common = set.intersection(*everyone(set(mine.values()), of, "to compile a graph"))
    return {node: digest for node, digest in mine.items() if digest in common}


def without_copies(graph):
    """A sum in place is that sum: functionalized, it is copied over what was summed."""
    for node in graph.find_nodes(op="call_function", target=torch.ops.aten.copy.default):
        made, kept = node.args[1], node.meta["val"]
        if made.target is torch.ops._c10d_functional.wait_tensor.default and len(made.users) == 1 and (
                made.meta["val"].dtype, made.meta["val"].stride()) == (kept.dtype, kept.stride()):
            node.replace_all_uses_with(made)
            graph.erase_node(node)


def passed(module, kind, known, settings, labels):
    """The graph with programs in place of regions; the logger reports each collective, and `records` has
    them. `known` gives the inputs of which all ranks of a group have the same, `labels` names of inputs."""
    graph, made = module.graph, {}
    without_copies(graph)
    collectives = [node for node in graph.nodes if node.target in COLLECTIVES or node.target in EXCHANGES]
    gone = set()
    for group in dict.fromkeys(node.args[-1] for node in collectives):
        with communicating():
            made[group] = proven_alike(graph, known(group), group)
    for node in collectives:
        if node in gone:
            continue
        title = f"{kind}: {name_of(node)} {shape_of(node) or ''}"
        record = record_of(node, kind)
        records.append(record)
        try:
            with communicating():
                group = node.args[-1]
                region, program = region_of(node, made[group], settings.sized, title)
                record.update(operations=region.words, outside=[
                    change_of(why, made[group], labels) for why in (*region.notes, *region.own.values())])
                operator, found = chosen(region, program, settings, title)
            inside = [each for each in (*region.nodes, *region.names) if each.target in COLLECTIVES]
            if operator is not None:
                made[group].update(put_in(graph, region, operator, *program[1:]))
                stable_topological_sort(graph)  # regions are found in the order of the graph
            gone.update(inside)
            record.update(found, fused=True, collectives=len(inside))
            if dist.get_rank() == 0:
                log.info("%s: fused: %s, %s%s", title, " -> ".join(region.words), found["how"],
                         "".join(f"\n  {reported(note)}" for note in record["outside"]))
        except Left as why:
            record.update(change_of(why, made[node.args[-1]], labels, node))
            if dist.get_rank() == 0 or why.__cause__:  # a fault
                log.info("%s: left alone: %s", title, reported(record))
    graph.lint()
    module.recompile()
    return module


def record_of(node, kind):
    """What is known of a collective before it is searched for a region. Bytes are those of the larger
    buffer whose sizes are numbers."""
    buffers = [each.meta["val"] for each in (node, node.args[0]) if shape_of(each) is not None]
    return {
        "graph": kind, "collective": name_of(node), "shape": shape_of(node), "fused": False, "collectives": 1,
        "bytes": max((each.nbytes for each in buffers), default=0), "at": place_of(node), "operations": [], "outside": []
    }


def place_of(node):
    """The line of the model that a node is of, as FILE:LINE: TEXT; "" where that is not known."""
    frames = re.findall(r'File "([^"]+)", line (\d+), in .*\n\s*(.*)', node.meta.get("stack_trace") or "")
    own = [each for each in frames if not each[0].startswith((TORCH, PACKAGE))]
    return f"{pathlib.Path(own[-1][0]).name}:{own[-1][1]}: {own[-1][2]}" if own else ""


def change_of(why, known, labels, node=None):
    """Why something is left, where that is, and what would change it."""
    reason, change, at = str(why), why.change, why.node or node
    if why.operand is not None:
        names = sorted(unknown_inputs(why.operand, known, labels))
        change = f"options={{'replicated': {names}}}, if all ranks have the same" if names else ""
        reason = reason.replace(why.operand.name, labels.get(why.operand.name, why.operand.name))
    return {"reason": reason, "at": place_of(at) if at else "", "change": change}


def reported(note):
    return note["reason"] + (f" ({note['change']})" if note["change"] else "")


def unknown_inputs(operand, known, labels):
    """The names of inputs that it is computed of, and that are not known to be the same on all ranks."""
    found, reached, todo = set(), {operand}, [operand]
    while todo:
        node = todo.pop()
        if node.op == "placeholder" and node.name in labels:
            found.add(labels[node.name])
        further = [each for each in node.all_input_nodes if each not in reached and each not in known]
        reached.update(further)
        todo += further
    return found


def named(node):
    """The name of a parameter or an input, as named_parameters() has it."""
    text = getattr(getattr(node, "_dynamo_source", None), "name", None) or node.name
    text = text() if callable(text) else text
    parts = re.findall(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", text)
    return ".".join(parts) if parts else re.sub(r"^[LG]\['(.*)'\]$", r"\1", text)


def alike_inputs(module, settings):
    """Of each tensor among the inputs its name and the ranks that are known to have the same, None for all of
    them. A replicated DTensor is the same on the ranks of its mesh."""
    result = []
    for node in module.graph.find_nodes(op="placeholder"):
        value = node.meta.get("example_value", node.meta.get("val"))
        if not torch.is_tensor(value):
            continue
        placements = getattr(value, "placements", None)
        is_alike = all(each.is_replicate() for each in placements) if placements else any(
            fnmatch.fnmatchcase(named(node), pattern) for pattern in settings.replicated)
        ranks = set(value.device_mesh.mesh.flatten().tolist()) if placements else None
        result.append((named(node), ranks if is_alike else set()))
    return result


def ranks_of(group):
    return set(dist.get_process_group_ranks(dist.distributed_c10d._resolve_process_group(group)))


def backend(module, inputs, *, options=None, mode=None):
    settings = Settings(**(options or {}))
    alike = alike_inputs(module, settings)
    if not any(isinstance(side, torch.SymInt) for each in inputs for side in sides(each)):
        return compiled(module, inputs, alike, settings)
    if dist.get_rank() == 0:
        log.info("sizes are symbols: programs for each of the first %d", CLASSES)
    return Sized(module, alike, settings, compiled(module, inputs, alike, settings, fuses=False))


def sides(value):
    return value.shape if torch.is_tensor(value) else (value, )


class Sized:
    """A graph whose sizes are symbols. It is compiled for each of the sizes that come first, once, and runs
    as `general` with others."""

    def __init__(self, module, alike, settings, general):
        self.module, self.alike, self.general, self.made = module, alike, general, {}
        self.settings = copy.copy(settings)
        self.settings.sized = True

    def __call__(self, *inputs):
        key = tuple(tuple(sides(each)) for each in inputs)
        if key not in self.made and len(self.made) < CLASSES:
            fake = FakeTensorMode(allow_non_fake_inputs=True)  # without symbols
            given = [fake.from_tensor(each) if torch.is_tensor(each) else each for each in inputs]
            module = torch.fx.GraphModule(self.module, copy.deepcopy(self.module.graph))
            self.made[key] = compiled(module, given, self.alike, self.settings)
        return self.made.get(key, self.general)(*inputs)


def compiled(module, inputs, alike, settings, fuses=True):
    """A graph, compiled with programs in place of regions if it `fuses`. `alike`: as of alike_inputs()."""
    names = {}  # by group: names of nodes that the backward pass gets from the forward pass
    labels = {}  # names of inputs of the model, by those of nodes

    def graph_pass(module, kind):
        if not fuses:
            return module
        places = [
            node for node in module.graph.find_nodes(op="placeholder")
            if torch.is_tensor(node.meta.get("val"))
        ]
        if kind == "backward":
            return passed(
                module, kind,
                lambda group: {node: names.get(group, names[None])[node.name]
                               for node in places if node.name in names.get(group, names[None])}, settings,
                labels)

        def known(group):
            if len(places) != len(alike):
                return {}
            return {
                node: f"input {k}: {name}"
                for k, (node, (name, ranks)) in enumerate(zip(places, alike))
                if ranks is None or (group and ranks_of(group) <= ranks)
            }

        if len(places) == len(alike):
            labels.update((node.name, name) for node, (name, _) in zip(places, alike))
        for group in (None, *(node.args[-1] for node in module.graph.nodes if node.target in COLLECTIVES)):
            names[group] = {
                node.name: "forward " + digest
                for node, digest in known_alike(module.graph, known(group), group).items()
            }
        return passed(module, kind, known, settings, labels)

    if settings.inner == "inductor":
        from torch._inductor import compile_fx, config

        def inner(module, inputs, **options):
            return compile_fx.compile_fx_inner(
                graph_pass(module, "backward" if options.get("is_backward") else "forward"), inputs,
                **options)

        with torch._functorch.config.patch(enable_autograd_cache=False), config.patch(
                force_disable_caches=True):
            return compile_fx.compile_fx(module, inputs, inner_compile=inner)
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def compiler(kind):
        return lambda module, inputs: make_boxed_func(graph_pass(module, kind).forward)

    with torch._functorch.config.patch(enable_autograd_cache=False):
        return aot_autograd(fw_compiler=compiler("forward"),
                            bw_compiler=compiler("backward"),
                            inference_compiler=compiler("forward"))(module, inputs)


def explain(function, **options):
    """Of a function or a module that is then called with its arguments, as by torch._dynamo.explain: what
    becomes of each collective of its forward and backward graphs, as an Explanation. By default nothing is
    compiled, and times are predicted; choose="measured" is what torch.compile does. Called by all ranks."""
    options = {"choose": "predicted", "inner": "eager", **options}

    def called(*args, **kwargs):
        from torch._dynamo.utils import counters

        torch._dynamo.reset()
        records.clear()
        counters["graph_break"].clear()
        made = torch.compile(function, backend="chorale", options=options)(*args, **kwargs)
        outputs = [each for each in torch.utils._pytree.tree_leaves(made)
                   if torch.is_tensor(each) and each.requires_grad]
        inputs = [each for each in (*getattr(function, "parameters", tuple)(),
                                    *torch.utils._pytree.tree_leaves((args, kwargs)))
                  if torch.is_tensor(each) and each.requires_grad]
        if outputs and inputs:  # the backward graph is made when it is called
            ones = [torch.ones_like(each) for each in outputs]
            torch.autograd.grad(outputs, inputs, ones, allow_unused=True)
        breaks = list(counters["graph_break"])
        torch._dynamo.reset()
        return Explanation(list(records), breaks)

    return called


if "chorale" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="chorale")
