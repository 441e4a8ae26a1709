"""Files with which Open MPI, MPICH, UCC and NCCL choose among their own algorithms, of a library's answers:
by what was measured with their settings, or else as baselines of the same shape predict. Adjacent sizes with
one choice are one rule."""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from chorale.command import Outcome, ask, format_bytes, format_us
from chorale.errors import InputError

Answer = Dict[str, Any]  # an element of "answers" of 'chorale library export --as times' (docs/formats.md)
Files = Dict[str, str]

# The algorithms of each program for a collective, by the names of its own settings (ompi_info --param coll
# tuned --level 9, mpivars, ucc_info -A); Open MPI's are numbered so from 1 on. After "=" is the baseline of
# the same shape, the same messages between the same ranks, which predicts its time. Pipelines, chains,
# segmented rings and Bruck's algorithm have none: they can be chosen where their times were measured. UCC's
# k-nomial algorithms have a radix, which the file sets to two, as baselines have it.
_ALGORITHMS = {
    "ompi": {
        "allreduce":
            "basic_linear nonoverlapping recursive_doubling=recursive_doubling_allreduce ring=ring_allreduce "
            "segmented_ring rabenseifner=halving_doubling_allreduce allgather_reduce",
        "allgather":
            "linear bruck recursive_doubling=recursive_doubling_allgather ring=ring_allgather neighbor "
            "two_proc sparbit direct-messaging=direct_allgather",
        "alltoall":
            "linear=direct_alltoall pairwise modified_bruck linear_sync two_proc",
        "broadcast":
            "basic_linear chain pipeline split_binary_tree binary_tree=tree_broadcast "
            "binomial=binomial_broadcast knomial scatter_allgather scatter_allgather_ring",
        "gather":
            "basic_linear binomial=binomial_gather linear_sync",
        "reduce":
            "linear chain pipeline binary=tree_reduce binomial=binomial_reduce in-order_binary rabenseifner "
            "knomial",
        "reducescatter":
            "basic_linear recursive_doubling recursive_halving=recursive_halving_reducescatter butterfly",
        "scatter":
            "basic_linear binomial=binomial_scatter linear_nb"
    },
    "mpich": {
        "allreduce":
            "recursive_doubling=recursive_doubling_allreduce "
            "reduce_scatter_allgather=halving_doubling_allreduce",
        "allgather":
            "brucks recursive_doubling=recursive_doubling_allgather ring=ring_allgather",
        "alltoall":
            "brucks pairwise scattered=direct_alltoall",
        "broadcast":
            "binomial=binomial_broadcast scatter_recursive_doubling_allgather scatter_ring_allgather",
        "gather":
            "binomial=binomial_gather",
        "reduce":
            "binomial=binomial_reduce reduce_scatter_gather",
        "reducescatter":
            "recursive_halving=recursive_halving_reducescatter pairwise=direct_reducescatter "
            "recursive_doubling",
        "scatter":
            "binomial=binomial_scatter"
    },
    "ucc": {
        "allreduce":
            "knomial=recursive_doubling_allreduce sra_knomial=halving_doubling_allreduce "
            "dbt=two_tree_allreduce ring=ring_allreduce",
        "allgather":
            "knomial=recursive_doubling_allgather ring=ring_allgather neighbor bruck linear=direct_allgather",
        "alltoall":
            "pairwise=direct_alltoall bruck",
        "broadcast":
            "knomial=binomial_broadcast sag_knomial dbt",
        "reduce":
            "knomial=binomial_reduce dbt srg",
        "reducescatter":
            "ring=ring_reducescatter knomial=recursive_halving_reducescatter"
    }
}


def _algorithms(tool: str, collective: str) -> Dict[str, str]:
    """[name] -> its baseline; "": none."""
    pairs = (each.partition("=") for each in _ALGORITHMS[tool].get(collective, "").split())
    return {name: baseline for name, _, baseline in pairs}


class Rule(NamedTuple):
    """From this size on, until the next rule's; "" as the program chooses by itself."""
    bytes: int  # as the program counts a call
    algorithm: str


class Rules(NamedTuple):
    collective: str
    ranks: int
    group: str
    is_measured: bool
    rules: List[Rule]  # by size, the first from 0; neighbours differ
    origin: List[str]  # all sizes that were compared: the choice, its time, that of the program's own choice

    def ranges(self) -> Iterator[Tuple[int, Optional[int], str]]:
        """(first byte, last byte or None, algorithm)."""
        for rule, after in zip(self.rules, [*self.rules[1:], None]):
            yield rule.bytes, after.bytes - 1 if after else None, rule.algorithm


def _message(tool: str, answer: Answer, block: int) -> int:
    """Bytes as the program counts a call: the larger buffer of a rank, sometimes one block of it."""
    of_a_block = (tool, answer["collective"]) in (("mpich", "alltoall"), ("ucc", "reducescatter"))
    return block if of_a_block else block * answer["buffer_blocks"]


def _measured(times: Dict[str, Any], tool: str) -> List[Tuple[int, str, float, float]]:
    """(block, algorithm, us, us of its own choice; 0: not measured) of each size. An algorithm is forced only
    if its median is below the fastest round of the program's own choice: a difference within the noise
    changes nothing."""
    by_size: Dict[int, Dict[str, float]] = {}
    for row in times["own"]:
        if row["library"] == tool:
            by_size.setdefault(row["bytes"], {})[row["algorithm"]] = row["us"]
    chosen = {row["bytes"]: row for row in times["chosen"]}
    rows = []
    for block, candidates in sorted(by_size.items()):
        own = chosen.get(block, {"us": 0, "least_us": 0})
        best, us = min(sorted(candidates.items()), key=lambda each: each[1])
        is_better = own["least_us"] == 0 or us < own["least_us"]
        rows.append((block, best if is_better else "", us if is_better else own["us"], own["us"]))
    return rows


def rules_of(tool: str, answer: Answer) -> Optional[Rules]:
    """None where nothing was measured and fewer than two algorithms can be predicted: a single one would be
    the fastest of itself. Measurements exclude predictions, even at other sizes: both in one file would be
    compared as equals."""
    collective, ranks = answer["collective"], answer["ranks"]
    times = next((each for each in answer["measured"] if any(row["library"] == tool for row in each["own"])),
                 None)
    if times:
        rows = _measured(times, tool)
    else:
        # By recursive doubling MPICH gathers among powers of two of ranks alone.
        unsuited = {"recursive_doubling"
                   } if (tool, collective) == ("mpich", "allgather") and ranks & ranks - 1 else ()
        known = {each["name"]: each["us"] for each in answer["baselines"]}
        predicted = {
            name: known[baseline]
            for name, baseline in _algorithms(tool, collective).items()
            if baseline in known and name not in unsuited
        }
        if len(predicted) < 2:
            return None
        rows = []
        for number, block in enumerate(answer["blocks"]):
            best = min(predicted, key=lambda name: predicted[name][number])
            rows.append((block, best, predicted[best][number], 0))
    found = Rules(collective, ranks, answer["group"], bool(times), [], [])
    for block, algorithm, us, own in rows:
        size = _message(tool, answer, block)
        found.origin.append(
            f"{format_bytes(size):>9}  {algorithm or 'its own choice':<38} {format_us(us):>9}" +
            (f"  its own choice {format_us(own)}" if algorithm and own else "") +
            ("  measured" if times else "  predicted"))
        if not found.rules or found.rules[-1].algorithm != algorithm:
            found.rules.append(Rule(size if found.rules else 0, algorithm))
    return found


def _origin(all_rules: Sequence[Rules], before: str) -> str:
    lines = []
    for each in all_rules:
        how = (
            "times were measured with its settings" if each.is_measured else
            "nothing was measured: times are predicted, of baselines of the same shape on the links of "
            "the machine"
        )
        lines += [
            f"{each.collective} of {each.ranks} ranks ({each.group}), by message size; {how}", *each.origin
        ]
    return "".join(f"{before}{line}\n" for line in lines)


# Open MPI. [collective] -> its number in the classic file, where collectives are in alphabetical order
# (COLLTYPE_T in coll_base_functions.h), and its name in the JSON.
_OMPI = {
    "allgather": (0, "allgather"),
    "allreduce": (2, "allreduce"),
    "alltoall": (3, "alltoall"),
    "broadcast": (7, "bcast"),
    "gather": (9, "gather"),
    "reduce": (11, "reduce"),
    "reducescatter": (13, "reducescatterblock"),
    "scatter": (15, "scatter")
}
_USE = (
    "mpirun --mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_dynamic_rules_filename ABSOLUTE_PATH/{} "
    "...\n")
# What an algorithm that is forced has by default (coll_tuned_init_chain_fanout, coll_tuned_init_tree_fanout):
# it was measured so. Segments it has none.
_FAN_OUT = 4


def _ompi_number(collective: str, algorithm: str) -> int:
    """0 makes Open MPI choose by itself."""
    return 1 + list(_algorithms("ompi", collective)).index(algorithm) if algorithm else 0


def _ompi_sets(all_rules: Sequence[Rules]) -> Iterator[Tuple[int, str, List[Rules]]]:
    for collective, (number, name) in _OMPI.items():
        sets = sorted((each for each in all_rules if each.collective == collective),
                      key=lambda each: each.ranks)
        if sets:
            yield number, name, sets


def _ompi_rules(all_rules: Sequence[Rules]) -> Files:
    """By collective and number of ranks a rule from each size on. Open MPI 4.1 and 5 read the ranks of a set
    as its least, up to those of the next set; the first set is also for fewer. Open MPI 6 reads them as one
    more than its most. A set is so written twice, between two empty ones: for n ranks (n: none), (n: rules),
    (n + 1: rules), (n + 1: none) is for n alone in both."""
    collectives = list(_ompi_sets(all_rules))
    text = (
        "# Which algorithms Open MPI takes, written by 'chorale library export':\n# " +
        _USE.format("ompi_rules.conf") +
        "# A rule is: bytes from which it holds, algorithm (0: as Open MPI chooses), fan-out, segment size.\n"
        + _origin(all_rules, "# ") + f"{len(collectives)}  # collectives\n")
    for number, name, sets in collectives:
        text += (f"{number}  # {name}\n{4 * len(sets)}  # sets, for exactly "
                 f"{', '.join(str(each.ranks) for each in sets)} ranks\n")
        for each in sets:
            rules = f"{len(each.rules)}  # rules\n" + "".join(
                f"{rule.bytes} {_ompi_number(each.collective, rule.algorithm)} {_FAN_OUT} 0  # "
                f"{rule.algorithm or 'its own choice'}\n" for rule in each.rules)
            ranks = each.ranks
            text += f"{ranks} 0\n{ranks} {rules}{ranks + 1} {rules}{ranks + 1} 0\n"
    return {"ompi_rules.conf": text}


def _ompi_json(all_rules: Sequence[Rules]) -> Files:
    """Ranges of ranks and sizes include both ends here, so a set is for its number of ranks alone."""
    collectives = {
        name: [{
            "comm_size_min":
                each.ranks,
            "comm_size_max":
                each.ranks,
            "rules": [{
                "msg_size_min": least,
                "msg_size_max": "inf" if most is None else most,
                "alg": _ompi_number(each.collective, algorithm),
                "faninout": _FAN_OUT
            } for least, most, algorithm in each.ranges()]
        } for each in sets] for _, name, sets in _ompi_sets(all_rules)
    }
    text = json.dumps({"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=2)
    return {
        "ompi_rules.json":
            text + "\n",
        "ompi_rules.txt":
            "ompi_rules.json was written by 'chorale library export', for Open MPI 6:\n" +
            _USE.format("ompi_rules.json") + _origin(all_rules, "")
    }


def _mpich_json(all_rules: Sequence[Rules]) -> Files:
    from chorale.mpich_selection import selection  # a table of all that MPICH has

    return {
        "mpich_selection.json": selection(all_rules),
        "mpich_selection.txt":
            "mpich_selection.json was written by 'chorale library export', for MPICH 4.0:\n"
            "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=ABSOLUTE_PATH/mpich_selection.json mpiexec ...\n"
            "Where MPICH's device has collectives of its own, they come first; without them:\n"
            "MPIR_CVAR_DEVICE_COLLECTIVES=none\n" + _origin(all_rules, "")
    }


def _ucc_tune(all_rules: Sequence[Rules]) -> Files:
    """A token per rule, separated by #: "allreduce:0-4095:[8-8]:@ring" is a collective, sizes, ranks, and an
    algorithm. A size without a token is left to UCC."""
    names = {"broadcast": "bcast", "reducescatter": "reduce_scatter"}
    tokens = [
        f"{names.get(each.collective, each.collective)}:{least}-{'inf' if most is None else most}:"
        f"[{each.ranks}-{each.ranks}]:@{algorithm}"
        for each in all_rules
        for least, most, algorithm in each.ranges()
        if algorithm
    ]
    text = (
        "# Which algorithms UCC's tl/ucp takes, written by 'chorale library export': a configuration file\n"
        "# of UCC, ucc.conf; its settings may also be environment variables.\n" + _origin(all_rules, "# ") +
        f"UCC_TL_UCP_TUNE={'#'.join(tokens)}\n")
    if "knomial" in text:
        text += "# As baselines have them.\nUCC_TL_UCP_KN_RADIX=2\n"
    return {"ucc.conf": text}


# NCCL. What is known of its algorithms here is the shape of two, ring and tree, of AllReduce. Rows are
# written where moving the data takes longer than all latencies, with protocol Simple; elsewhere a model of
# links does not know NCCL's launch and protocol costs, which decide, and NCCL goes on choosing.
_PREDICTED = "What 'chorale library export' predicts of NCCL's own algorithms; nothing was measured."


class Choices(NamedTuple):
    ranks: int
    nodes: int
    rows: List[Tuple[int, Optional[int],
                     str]]  # bytes of a message, from and to (None: without end), "ring" or "tree"
    origin: List[str]


def _choices(answer: Answer) -> Optional[Choices]:
    """Adjacent sizes with one choice become one row. A row ends before the next size with another choice, or
    whose latency decides: that one adds no row. The tree of full:16 is faster at 256 KiB; at 512 KiB the ring
    is, but most of its time is latency, so from there to 2 MiB NCCL chooses. None: the machine has not the
    links for both."""
    shapes = {
        shape: [each for each in answer["baselines"] if each["name"] in names]
        for shape, names in (("ring", ("ring_allreduce", "multi_ring_allreduce")),
                             ("tree", ("tree_allreduce", "two_tree_allreduce")))
    }
    if not all(shapes.values()):
        return None
    latency = {shape: min(each["latency_us"] for each in of_shape) for shape, of_shape in shapes.items()}
    found = Choices(answer["ranks"], answer["nodes"], [], [])
    for number, size in enumerate(answer["sizes"]):
        us = {shape: min(each["us"][number] for each in of_shape) for shape, of_shape in shapes.items()}
        best = "tree" if us["tree"] < us["ring"] else "ring"
        is_known = us[best] >= 2 * latency[best]
        ours = answer["us"][number]
        found.origin.append(
            f"allreduce of {format_bytes(size)}: ring {format_us(us['ring'])}, tree {format_us(us['tree'])}" +
            (f", the library's {format_us(ours)}" if ours is not None else "") +
            ("" if is_known else "; latency counts more: NCCL's choice"))
        least, most, shape = found.rows[-1] if found.rows else (0, 0, "")
        if most is None and is_known and shape == best:
            continue
        if found.rows and most is None:
            found.rows[-1] = (least, size - 1, shape)
        if is_known:
            found.rows.append((size, None, best))
    return found


def _nccl_origin(choices: Sequence[Choices], before: str) -> str:
    return "".join(f"{before}{line}\n" for each in choices for line in each.origin)


_NO_END = (1 << 63) - 1


def _nccl_tuner(choices: Sequence[Choices]) -> Files:
    """For NCCL's example of a tuner plugin. -1 leaves a column to NCCL, or holds for any: channels, nodes,
    pipelined operations, registered buffers."""
    text = (
        f"# {_PREDICTED}\n# For NCCL's example of a tuner plugin.\n# collective_type,min_bytes,max_bytes,"
        "algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n" + _nccl_origin(choices, "# "))
    for each in choices:
        for least, most, shape in each.rows:
            end = _NO_END if most is None else most
            text += f"allreduce,{least},{end},{shape},simple,-1,-1,{each.ranks},-1,-1\n"
    return {"nccl_tuner.csv": text}


def _nccl_tuner_plugin(choices: Sequence[Choices]) -> Files:
    """A C source without other files: cc -shared -fPIC makes a library that exports ncclTunerPlugin_v4, v5
    and v6."""
    rows = "".join(
        f"    {{ALL_REDUCE, {each.ranks}, {least}u, {_NO_END if most is None else most}u, {shape.upper()}, "
        "SIMPLE},\n" for each in choices for least, most, shape in each.rows)
    text = (pathlib.Path(__file__).parent / "nccl_tuner_plugin.c").read_text()
    text = text.replace("// ORIGIN\n", f"// {_PREDICTED}\n{_nccl_origin(choices, '// ')}", 1)
    return {"nccl_tuner_plugin.c": text.replace("    // ROWS\n", rows, 1)}


def _ncclx_csv(choices: Sequence[Choices]) -> Files:
    """NCCLX counts bytes per rank, so bounds are divided by the ranks and rounded up: ranges are half open.
    It knows only nodes of one size."""
    text = (
        f"# {_PREDICTED}\n# NCCLX_TUNER_CONFIG_FILE=ABSOLUTE_PATH/ncclx_tuner.csv; bytesPerRank is the "
        "message of a rank through the number of ranks.\n# collective,bytesPerRank,algorithm,protocol,"
        "channels,nNodes,nLocalRanks\n" + _nccl_origin(choices, "# "))
    for each in choices:
        for least, most, shape in each.rows if each.ranks % each.nodes == 0 else ():
            end = "" if most is None else (most + each.ranks) // each.ranks
            text += (
                f"allreduce,[{(least + each.ranks - 1) // each.ranks},{end}),{shape},simple,-1,{each.nodes},"
                f"{each.ranks // each.nodes}\n")
    return {"ncclx_tuner.csv": text}


# [form] -> the program whose rules it has ("": NCCL's choices), and what writes it.
FORMS: Dict[str, Tuple[str, Callable[[Any], Files]]] = {
    "nccl-tuner": ("", _nccl_tuner),
    "nccl-tuner-plugin": ("", _nccl_tuner_plugin),
    "ncclx-csv": ("", _ncclx_csv),
    "ompi-rules": ("ompi", _ompi_rules),
    "ompi-json": ("ompi", _ompi_json),
    "mpich-json": ("mpich", _mpich_json),
    "ucc-tune": ("ucc", _ucc_tune)
}


def times_form(form: str) -> str:
    """What files() needs: trees of more chunks, which are pipelines, are NCCL's alone."""
    return "times" if FORMS[form][0] else "pipelined-times"


def files(form: str, answers: Sequence[Answer], library: str, notes: List[str]) -> Files:
    """Texts by name; to notes is added what is left out. Throws InputError if there is nothing to be written.
    """
    tool, write = FORMS[form]
    found: List[Any] = []
    for answer in answers:
        name = answer["collective"]
        if not tool and name != "allreduce":
            notes.append(
                f"{name}: no rows; of NCCL's algorithms only ring and tree of an allreduce are known here")
            continue
        # Rules are found by collective and number of ranks alone, so a second group of that size has no
        # place.
        known = next(
            (each for each in found if tool and (each.collective, each.ranks) == (name, answer["ranks"])),
            None)
        if known:
            notes.append(
                f"{name} of {answer['group']}: no rules; those of {known.group} are for as many ranks, and "
                "the program sees only their number")
            continue
        each = rules_of(tool, answer) if tool else _choices(answer)
        if each is not None:
            found.append(each)
        elif tool:
            notes.append(
                f"{name}: no rules; nothing was measured of {tool}, and fewer than two of its algorithms can "
                "be predicted on this machine")
        else:
            notes.append(f"{name}: no rows; this machine has not the links for both a ring and a tree")
    if not found or not (tool or any(each.rows for each in found)):
        raise InputError(f"{library}: nothing of that can be written" + (f"; {notes[0]}" if notes else ""))
    return write(found)


def perform(question: Dict[str, Any]) -> Outcome:
    """`chorale library export --as FORM`: the words of the command line for its times, "form", "library" and
    "output"."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:
        ask("library",
            "export",
            *question["words"],
            "--as",
            times_form(question["form"]),
            "-o",
            folder,
            notes=outcome.notes)
        answers = json.loads((pathlib.Path(folder) / "times.json").read_text())["answers"]
    for name, text in files(question["form"], answers, question["library"], outcome.notes).items():
        outcome.files.append((f"{question['output']}/{name}", text))
    return outcome
