"""What the extension has. Methods that Python adds (shown.py, graphs.py) stand with their classes."""

import os
from fractions import Fraction
from typing import Any, Callable, Dict, Final, Iterable, List, Optional, Sequence, Tuple, TypedDict, Union

from typing_extensions import Unpack

from chorale.calls import Compiled as _Compiled

__version__: str

class Link:
    def __init__(self, src: int, dst: int, bandwidth: int = 1, alpha_us: float = ..., beta_us_per_byte: float = ...) -> None: ...
    src: Final[int]
    dst: Final[int]
    bandwidth: Final[int]
    alpha_us: Final[float]
    beta_us_per_byte: Final[float]

class SharedLimit:
    def __init__(self, name: str, links: Sequence[int], bandwidth: int, multicast: bool = False, reduce: bool = False) -> None: ...
    multicast: Final[bool]
    reduce: Final[bool]
    name: Final[str]
    links: Final[List[int]]
    bandwidth: Final[int]
    cables: Final[List[Tuple[int, int]]]

class NodeLabel:
    kind: Final[str]
    name: Final[str]

class Topology:
    def __init__(self, name: str, ranks: int, links: Sequence[Link], limits: Sequence[SharedLimit] = ..., switches: int = 0,
                 multicast: Sequence[int] = ..., reduce: Sequence[int] = ...) -> None: ...
    @staticmethod
    def from_json(text: str, name: str = "machine") -> Topology: ...
    @staticmethod
    def from_networkx(graph: Any, name: str = "") -> Topology: ...
    def to_json(self) -> str: ...
    def to_networkx(self) -> Any: ...
    name: Final[str]
    ranks: Final[int]
    switches: Final[int]
    links: Final[List[Link]]
    limits: Final[List[SharedLimit]]
    call_us: Final[float]
    switch_gain: Final[float]
    labels: Final[List[NodeLabel]]
    multicast: Final[List[int]]
    reduce: Final[List[int]]
    def with_switches(self) -> Topology: ...
    def to_page(self) -> str: ...
    def _repr_html_(self) -> str: ...

class Hierarchy:
    @staticmethod
    def from_json(text: str, name: str = "hierarchy") -> Hierarchy: ...
    def to_json(self) -> str: ...
    name: Final[str]
    levels: Final[List[Tuple[str, int]]]
    devices: Final[int]

class Chunk:
    pre: Final[List[int]]
    post: Final[List[int]]
    input: Final[int]
    output: Final[int]
    summed: Final[bool]

class Collective:
    @staticmethod
    def from_json(text: str, ranks: int, name: str = "collective") -> Collective: ...
    def to_json(self) -> str: ...
    name: Final[str]
    ranks: Final[int]
    root: Final[int]
    chunks_per_block: Final[int]
    combining: Final[bool]
    order: Final[str]
    chunks: Final[List[Chunk]]
    def input_chunks(self, rank: int) -> int: ...
    def output_chunks(self, rank: int) -> int: ...

class Send:
    chunk: Final[int]
    link: Final[int]
    reduce: Final[bool]

class Step:
    rounds: Final[int]
    sends: Final[List[Send]]

class Point:
    steps: Final[int]
    rounds: Final[int]
    chunks: Final[int]
    rate: Final[Fraction]
    bound: Final[Optional[Fraction]]
    gap: Final[float]
    method: Final[str]
    construction: Final[str]
    reduce_scatter_steps: Final[int]
    collective: Final[Collective]
    schedule: Final[List[Step]]
    on_frontier: Final[bool]
    proven: Final[bool]
    seconds: Final[float]

class Claim:
    collective: Final[str]
    chunks: Final[int]
    any_chunks: Final[bool]
    steps: Final[Optional[int]]
    rounds: Final[Optional[int]]
    certificate: Final[str]
    seconds: Final[float]

class TimeClaim:
    block_bytes: Final[float]
    us: Final[float]
    claim: Final[int]
    until: Final[List[float]]
    limits: Final[List[int]]

class Space:
    min_chunks: Final[int]
    max_chunks: Final[Optional[int]]
    max_steps: Final[Optional[int]]
    max_rounds: Final[Optional[int]]
    extra_rounds: Final[Optional[int]]

class SearchLimits:
    conflicts: Final[Optional[int]]
    time_ms: Final[Optional[int]]
    memory_bytes: Final[Optional[int]]

class Opening:
    steps: Final[int]
    found: Final[Optional[Fraction]]
    bound: Final[Optional[Fraction]]

class Result:
    @staticmethod
    def from_json(text: str, name: str = "result") -> Result: ...
    def to_json(self) -> str: ...
    def to_page(self) -> str: ...
    def _repr_html_(self) -> str: ...
    report: Dict[str, Any]
    kind: Final[str]
    topology: Final[Topology]
    collective: Final[Collective]
    complete: Final[bool]
    complete_chunks: Final[Optional[int]]
    stopped: Final[str]
    points: Final[List[Point]]
    claims: Final[List[Claim]]
    time_claims: Final[List[TimeClaim]]
    openings: Final[List[Opening]]
    space: Final[Space]
    limits: Final[SearchLimits]
    seconds: Final[float]
    rate_bound: Final[Optional[Fraction]]
    best_sizes: Final[List[str]]
    proofs: Final[List[str]]
    def best(self, bytes: int) -> SizeRow: ...
    def by_size(self, bytes: Sequence[int]) -> List[SizeRow]: ...
    def to_dataframe(self) -> Any: ...
    def plot(self, bytes: Optional[Sequence[int]] = None, ax: Any = None) -> Any: ...
    def run(self, arrays: Sequence[Any], *, point: int = 0, op: str = "sum") -> List[Any]: ...
    def measure(self, bytes: Sequence[int], *, point: int = 0, type: str = "float32", op: str = "sum",
                **options: Unpack[_RunOptions]) -> List[RunRow]: ...
    def compile(self, target: str, *, point: int = 0, **options: Unpack[_CompileOptions]) -> _Compiled: ...
    def simulate(self, message_bytes: Iterable[int] = ..., *, points: Optional[Iterable[int]] = None) -> List[SimulatedRow]: ...
    def check(self, *, proofs: Union[str, os.PathLike[str]] = "", lrat: Union[str, os.PathLike[str]] = "",
              pb: Union[str, os.PathLike[str]] = "", conflicts: Optional[int] = None, time_limit: Optional[float] = None) -> CheckReport: ...

class SimulatedRow:
    point: Final[int]
    algorithm: Final[str]
    message_bytes: Final[int]
    predicted_us: Final[float]
    simulated_us: Final[float]
    busbw_gbs: Final[float]

class SizeRow:
    message_bytes: Final[int]
    block_bytes: Final[int]
    point: Final[int]
    us: Final[float]
    algbw_gbs: Final[float]
    busbw_gbs: Final[float]
    least_us: Final[float]
    at_most: Final[bool]

class Bounds:
    report: Dict[str, Any]
    def _repr_html_(self) -> str: ...
    steps: Final[int]
    fewest_steps: Final[Claim]
    rounds: Final[Claim]
    rate: Final[Optional[Fraction]]
    within: Final[int]
    rounds_within: Final[Claim]

class CheckReport:
    faults: Final[List[str]]
    ok: Final[bool]
    schedules: Final[int]
    bounds: Final[int]
    refutations: Final[int]
    plain: Final[int]
    undecided: Final[int]

class RunRow:
    message_bytes: Final[int]
    block_bytes: Final[int]
    type: Final[str]
    op: Final[str]
    median_us: Final[float]
    min_us: Final[float]
    max_us: Final[float]
    algbw: Final[float]
    busbw: Final[float]
    wrong: Final[int]

class SolverReport:
    strategies: Final[int]
    calls: Final[int]
    conflicts: Final[int]
    seconds: Final[float]
    complete: Final[bool]
    nothing_longer: Final[bool]

class Ranking:
    def to_json(self) -> str: ...
    def to_page(self) -> str: ...
    def _repr_html_(self) -> str: ...
    def to_dataframe(self) -> Any: ...
    def plot(self, most: int = 20, ax: Any = None) -> Any: ...
    def files(self) -> _Compiled: ...
    best: Final[List[Dict[str, Any]]]
    hierarchy: Final[Hierarchy]
    matrices: Final[int]
    priced: Final[int]
    seconds: Final[float]
    engine: Final[str]
    solver: Final[Optional[SolverReport]]
    sentences: Final[List[str]]
    report: Dict[str, Any]

class Progress:
    doing: Final[str]
    points: Final[int]
    seconds: Final[float]

class _SearchOptions(TypedDict, total=False):
    use_bounds: bool
    use_symmetry: bool
    solver: str
    ipasir: Union[str, os.PathLike[str]]
    conflicts: Optional[int]
    jobs: int
    seed: int
    proofs: Union[str, os.PathLike[str]]
    time_limit: Optional[float]

class _FrontierOptions(_SearchOptions, total=False):
    max_chunks: Optional[int]
    min_chunks: int
    effort: Optional[int]
    k: Optional[int]
    max_steps: Optional[int]

class _SynthesisOptions(_SearchOptions, total=False):
    chunks: int
    steps: Optional[int]
    rounds: Optional[int]

class _PlaceOptions(TypedDict, total=False):
    algorithm: str
    rules: str
    synthesis: str
    top: int
    strategies: int
    given_order: bool
    engine: str
    solver: str
    ipasir: Union[str, os.PathLike[str]]

class _RunOptions(TypedDict, total=False):
    iterations: int
    warm_up: int
    accumulate: str
    wire: str
    wait: float

class _CompileOptions(TypedDict, total=False):
    name: str
    channels: int
    most_steps: int
    in_place: bool
    min_bytes: int
    max_bytes: int
    peer_access: str
    wire: str
    message_bytes: int

class _ImportOptions(TypedDict, total=False):
    nodes: int
    error: float
    network_within_nodes: bool
    line_rates: bool
    forward_only: bool
    in_network: bool
    instance: str
    nic_gbits: float
    nvlink_gbs: float

# The package's calls are in chorale.calls, with their defaults; these take everything.
_Texts = Sequence[Tuple[str, str]]
_Listener = Optional[Callable[[Progress], Any]]

def options(call: str) -> List[Tuple[str, Any, str]]: ...
def machine(name: str, **changes: Any) -> Topology: ...
def hierarchy(name: str, **changes: Any) -> Hierarchy: ...
def collective(name: str, topology: Topology, root: Optional[int], order: str, group: str, groups: str, counts: str,
                  /) -> Collective: ...
def catalogue() -> List[Tuple[str, str]]: ...
def collectives() -> List[str]: ...
def classics() -> List[Tuple[str, str]]: ...
def sizes(name: str, text: str, /) -> List[int]: ...
def targets() -> List[Tuple[str, str]]: ...
def import_machine(files: _Texts, /, **asked: Any) -> Tuple[Topology, str, str]: ...
def discover_machine(nccl_files: List[str], /, **asked: Any) -> Tuple[Topology, str, str]: ...
def verify_program(text: str, name: str, /) -> Tuple[str, str, int, Dict[str, int], Dict[str, Tuple[str, int]]]: ...
def frontier(topology: Topology, collective: Collective, listener: _Listener, /, **asked: Any) -> Result: ...
def synthesize(topology: Topology, collective: Collective, listener: _Listener, /, **asked: Any) -> Tuple[str, Result, int]: ...
def optimize(topology: Topology, collective: Collective, listener: _Listener, sizes: List[int], search_time: Optional[float],
             effort: Optional[int], baselines: str, time: str, /) -> Tuple[Result, str, str]: ...
def compare(first: str, second: str, collectives: List[str], sizes: List[int], search_time: float, /, **asked: Any) -> Tuple[str, str]: ...
def alltoallv(counts: List[List[int]], nodes: int, rates: str) -> Tuple[str, str]: ...
def design(ranks: int, degree: int, job: str, bytes: int, alpha_us: float, link_gbs: float, search_time: float, /) -> Tuple[str, str, Topology, List[Result]]: ...
def order(topology: str, hosts: str, job: str, node_ranks: int, node_gbs: float, tapers: List[float], /) -> str: ...
def reshard(topology: Topology, demand: str, host: List[int], search_time: float, /) -> Tuple[str, Result]: ...
def hosts_of(machine: str, /) -> List[int]: ...
def classic(name: str, topology: Topology, chunks: int, root: Optional[int], /) -> Result: ...
def bounds(topology: Topology, collective: Collective, chunks: int, steps: Optional[int], /) -> Tuple[Bounds, str]: ...
def check(result: Result, proofs: str, lrat: str, pb: str, conflicts: Optional[int], time_limit: Optional[float], /) -> CheckReport: ...
def check_file(file: str, proofs: str, lrat: str, pb: str, conflicts: Optional[int], time_limit: Optional[float], /) -> CheckReport: ...
def read_result(file: str, /) -> Result: ...
def best_by_size(result: Result, bytes: List[int], /) -> List[SizeRow]: ...
def place(hierarchy: Hierarchy, job: str, conditions: Dict[str, Any], present: str, /, **asked: Any) -> Ranking: ...
def emit_placement(ranking: Ranking, /) -> Dict[str, str]: ...
def run(result: Result, point: int, type: str, op: str, inputs: Sequence[Any], /) -> List[bytearray]: ...
def measure(result: Result, point: int, bytes: List[int], type: str, op: str, /, **asked: Any) -> List[RunRow]: ...
def compile(result: Result, point: int, target: str, /, **asked: Any) -> Tuple[str, Dict[str, Union[str, bytes]]]: ...
def simulate(result: Result, message_bytes: List[int], points: Optional[List[int]]) -> List[SimulatedRow]: ...

class LibraryQuestion:
    job: Final[Dict[str, Any]]

class AnswerFile:
    def __init__(self, path: str, make: bool) -> None: ...
    def places(self) -> List[Dict[str, Any]]: ...
    def build(self, questions: List[LibraryQuestion], search: Optional[Callable[[Dict[str, Any], Callable[[], bool]], Tuple[Optional[str], str]]],
              tell: Optional[Callable[[int, int], Any]]) -> Tuple[int, int, List[str]]: ...
    def find(self, question: LibraryQuestion) -> Optional[Result]: ...
    def results_at(self, machine: str, collective: str, group: str, root: int, members: str, order: str) -> List[Result]: ...
    def failures(self) -> str: ...
    def verify(self, conflicts: Optional[int]) -> Dict[str, Any]: ...
    def export(self, machine: str, collectives: List[str], form: str, group: str, message_bytes: List[int], /) -> Tuple[List[Tuple[str, str]], List[str]]: ...

def library_questions(text: str, file: str, failures: bool) -> List[LibraryQuestion]: ...
def library_question(topology: Topology, collective: Collective, **asked: Any) -> LibraryQuestion: ...
def merge_libraries(files: Sequence[str], into: str) -> Tuple[int, int, List[int], int]: ...
