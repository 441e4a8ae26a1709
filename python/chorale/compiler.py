"""torch.compile(model, backend="chorale"): collectives, the products beside them and the pointwise operations
behind them become tensor programs (chorale.regions), which are tuned, compiled, and measured against what
PyTorch does there. The faster one stays, so nothing gets slower; everything else is left to PyTorch.

Options (torch.compile(.., options={..})):
  replicated  patterns of names of parameters and inputs of which all ranks have the same, as ["*.bias", "x"]
  choose      "measured" (default), or "fused": take each program that compiles
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
import statistics
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
from chorale.logs import log
from chorale.regions import COLLECTIVES, Left, Region, known_alike, name_of, shape_of

ROUNDS = 7           # of a measurement, of which the median counts
GAIN = 0.97          # of PyTorch's time: what a program must reach
CLASSES = 8          # sizes of a graph whose sizes are symbols that have programs of their own
_operators = {}      # by text, script and group
statistics_of = {}   # of the last compilation of each kind of graph: collectives, and those fused


class Settings:
    def __init__(self, replicated=(), choose="measured", inner="inductor", machine=None, directory=None):
        if choose not in ("measured", "fused") or inner not in ("inductor", "eager"):
            raise ValueError(
                "options of the backend chorale: choose is 'measured' or 'fused', inner 'inductor' or 'eager'"
            )
        self.replicated, self.choose, self.inner, self.machine, self.directory = list(
            replicated), choose, inner, machine, directory
        self.sized = False  # whether a graph is one of several that differ in their sizes


def candidates(file, ranks, machine):
    """Scripts of schedules: the best that the tuner predicts, and the best of those without an overlap."""
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
    scripts = [found["candidates"][k]["script"] for k in found["ranking"]]
    return list(
        dict.fromkeys([scripts[0],
                       next((each for each in scripts if "overlap(" not in each), scripts[0])]))


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


def median_times(functions, group):
    """Of functions that all ranks call: seconds by the slowest rank, in rounds of one call of each."""
    times = [[] for _ in functions]
    for number in range(ROUNDS + 1):
        for function, each in zip(functions, times):
            begin = time.perf_counter()
            function()
            if number > 0:
                each.append(time.perf_counter() - begin)
    medians = torch.tensor([statistics.median(each) for each in times], dtype=torch.float64)
    dist.all_reduce(medians, dist.ReduceOp.MAX, group=group)
    return medians.tolist()


def agreed(act, group, told):
    """What `act` gives on each rank of a group; Left on all where one of them fails."""
    try:
        return together(act, group, f"to compile {told}")
    except (ConnectionError, Left):
        raise
    except Exception as why:
        raise Left(str(why) or type(why).__name__) from why


def region_of(node, known, sized, told):
    """The region of a collective and its program(), which all ranks of its group have; if it is `sized`, for
    all numbers of rows of one class."""
    found = []

    def compared():
        region = Region(node, known, sized)
        found.extend((region, region.program()))
        if any(each.meta["val"].device.type != "cpu" for each, _, _ in found[1][1]):
            raise Left("its tensors are on no CPU")
        return hashlib.sha256(region.compared.encode()).hexdigest()

    if len(set(agreed(compared, dist.distributed_c10d._resolve_process_group(node.args[-1]), told))) > 1:
        raise Left("other ranks have another program there")
    return found


@torch.no_grad()
def chosen(region, program, settings, told):
    """The operator that takes the place of a region, and what is reported."""
    text, operands, results = program
    group = dist.distributed_c10d._resolve_process_group(region.group)

    def tuned():
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "fused.chorale"
            file.write_text(text)
            return candidates(file, region.ranks, settings.machine or f"full:{region.ranks}")

    scripts = agreed(tuned, group, told)[0]
    scripts = scripts[:1] if settings.choose == "fused" else scripts
    begin = time.perf_counter()
    operators = [operator_of(text, script, group, settings) for script in scripts]
    took = time.perf_counter() - begin
    if settings.choose == "fused":
        return operators[0], f"as {scripts[0] or 'it is'}; made in {took:.1f} s"
    values = {node: made_up(node) for node, _, _ in operands}
    own, places = alone(region, operands, results)
    values.update((node, made_up(node)) for node in places if node not in values)
    given = [values[node].reshape(part_of(shape, layout, region.ranks)) for node, shape, layout in operands]
    times = median_times([
        lambda: own(*(values[node] for node in places)), *(lambda operator=each: operator(*given)
                                                           for each in operators)
    ], group)
    best = min(range(len(scripts)), key=lambda k: times[k + 1])
    told = f"{1e3 * times[best + 1]:.2f} ms, PyTorch's {1e3 * times[0]:.2f} ms; made in {took:.1f} s"
    if times[best + 1] > GAIN * times[0]:
        raise Left(f"it is not faster as a program: {told}")
    return operators[best], f"as {scripts[best] or 'it is'}: {told}"


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
                other = output if shape_of(output) == shape_of(node) else emit(
                    torch.ops.aten.reshape.default, output, shape_of(node))
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


def passed(module, kind, known, settings):
    """The graph with programs in place of regions; the logger reports each collective. `known` gives the
    inputs of which all ranks of a group have the same."""
    graph, made = module.graph, {}
    collectives = [node for node in graph.nodes if node.target in COLLECTIVES]
    fused, gone = 0, set()
    for group in dict.fromkeys(node.args[-1] for node in collectives):
        with communicating():
            made[group] = proven_alike(graph, known(group), group)
    for node in collectives:
        if node in gone:
            continue
        told = f"{kind}: {name_of(node)} {shape_of(node) or ''}"
        try:
            with communicating():
                group = node.args[-1]
                region, program = region_of(node, made[group], settings.sized, told)
                operator, how = chosen(region, program, settings, told)
            inside = [each for each in (*region.nodes, *region.names) if each.target in COLLECTIVES]
            made[group].update(put_in(graph, region, operator, *program[1:]))
            stable_topological_sort(graph)  # regions are found in the order of the graph
            gone.update(inside)
            fused += len(inside)
            if dist.get_rank() == 0:
                log.info("%s: fused: %s, %s%s", told, " -> ".join(region.words), how,
                         "".join(f"\n  left outside: {note}" for note in dict.fromkeys(region.notes)))
        except Left as why:
            if dist.get_rank() == 0 or why.__cause__:  # a fault
                log.info("%s: left alone: %s", told, why)
    statistics_of[kind] = (len(collectives), fused)
    graph.lint()
    module.recompile()
    return module


def named(node):
    """The name of a parameter or an input, as named_parameters() has it."""
    text = getattr(getattr(node, "_dynamo_source", None), "name", None) or node.name
    text = text() if callable(text) else text
    parts = re.findall(r"\._(?:modules|parameters|buffers)\['([^']+)'\]", text)
    return ".".join(parts) if parts else re.sub(r"^L\['(.*)'\]$", r"\1", text)


def alike_inputs(module, settings):
    """Of each tensor among the inputs its name and the ranks that have the same, None for all of them; or None
    where that is not known. A replicated DTensor is the same on the ranks of its mesh."""
    result = []
    for node in module.graph.find_nodes(op="placeholder"):
        value = node.meta.get("example_value", node.meta.get("val"))
        if not torch.is_tensor(value):
            continue
        placements = getattr(value, "placements", None)
        is_alike = all(each.is_replicate() for each in placements) if placements else any(
            fnmatch.fnmatchcase(named(node), pattern) for pattern in settings.replicated)
        ranks = set(value.device_mesh.mesh.flatten().tolist()) if placements else None
        result.append((f"input {len(result)}: {named(node)}", ranks) if is_alike else None)
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
    """A graph whose sizes are symbols. It is compiled for each of the sizes that come first, once, and runs as
    `general` with others."""

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
                               for node in places if node.name in names.get(group, names[None])}, settings)

        def known(group):
            if len(places) != len(alike):
                return {}
            return {
                node: each[0]
                for node, each in zip(places, alike)
                if each and (each[1] is None or (group and ranks_of(group) <= each[1]))
            }

        for group in (None, *(node.args[-1] for node in module.graph.nodes if node.target in COLLECTIVES)):
            names[group] = {
                node.name: "forward " + digest
                for node, digest in known_alike(module.graph, known(group), group).items()
            }
        return passed(module, kind, known, settings)

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


if "chorale" not in torch._dynamo.list_backends(exclude_tags=()):
    torch._dynamo.register_backend(backend, name="chorale")
