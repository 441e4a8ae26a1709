"""MPICH's selection file replaces its whole decision tree, so that it has to have a branch for each
collective and every call of it: a call that no branch takes ends the program. The eight blocking collectives
that rules can be for (_RULED) have MPICH 4.0's own decision, at its sizes, where there are no rules; all
others (_PLAIN) have one algorithm for all sizes. Calls that an algorithm is not for (in place, operators of
users, fewer elements than ranks) are guarded.

A key of the tree is a condition, tried in order; below the first that holds, one has to hold again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, Sequence

if TYPE_CHECKING:
    from chorale.tuning_files import Rules

Tree = Dict[str, Any]

# [collective] -> its key, what its sizes are of ("": one algorithm at all sizes), and the algorithm between
# two groups.
_RULED = {
    "broadcast": ("bcast", "avg_msg_size", "remote_send_local_bcast"),
    "allreduce": ("allreduce", "avg_msg_size", "reduce_exchange_bcast"),
    "reduce": ("reduce", "avg_msg_size", "local_reduce_remote_send"),
    "alltoall": ("alltoall", "avg_msg_size", "pairwise_exchange"),
    "allgather": ("allgather", "total_msg_size", "local_gather_remote_bcast"),
    "reducescatter": ("reduce_scatter_block", "total_msg_size", "remote_reduce_local_scatter"),
    "gather": ("gather", "", "linear"),
    "scatter": ("scatter", "", "linear")
}

# Key: algorithms within a group and between two; "-": there is none.
_PLAIN = """
allgatherv            intra_ring                      inter_remote_gather_local_bcast
gatherv               allcomm_linear                  allcomm_linear
scatterv              allcomm_linear                  allcomm_linear
scan                  intra_recursive_doubling        -
exscan                intra_recursive_doubling        -
barrier               intra_dissemination             inter_bcast
neighbor_allgather    allcomm_nb                      allcomm_nb
neighbor_allgatherv   allcomm_nb                      allcomm_nb
neighbor_alltoall     allcomm_nb                      allcomm_nb
neighbor_alltoallv    allcomm_nb                      allcomm_nb
neighbor_alltoallw    allcomm_nb                      allcomm_nb
ibarrier              intra_sched_recursive_doubling  inter_sched_bcast
ibcast                intra_sched_binomial            inter_sched_flat
iallreduce            intra_sched_recursive_doubling  inter_sched_remote_reduce_local_bcast
ireduce               intra_sched_binomial            inter_sched_local_reduce_remote_send
iallgather            intra_sched_brucks              inter_sched_local_gather_remote_bcast
iallgatherv           intra_sched_ring                inter_sched_remote_gather_local_bcast
igather               intra_sched_binomial            inter_sched_short
igatherv              allcomm_sched_linear            allcomm_sched_linear
iscatter              intra_sched_binomial            inter_sched_linear
iscatterv             allcomm_sched_linear            allcomm_sched_linear
iscan                 intra_sched_recursive_doubling  -
iexscan               intra_sched_recursive_doubling  -
ireduce_scatter       intra_sched_recursive_doubling  inter_sched_remote_reduce_local_scatterv
ireduce_scatter_block intra_sched_recursive_doubling  inter_sched_remote_reduce_local_scatterv
ineighbor_allgather   allcomm_sched_linear            allcomm_sched_linear
ineighbor_allgatherv  allcomm_sched_linear            allcomm_sched_linear
ineighbor_alltoall    allcomm_sched_linear            allcomm_sched_linear
ineighbor_alltoallv   allcomm_sched_linear            allcomm_sched_linear
ineighbor_alltoallw   allcomm_sched_linear            allcomm_sched_linear
alltoallv             intra_scattered                 inter_pairwise_exchange
alltoallw             intra_scattered                 inter_pairwise_exchange
ialltoall             intra_sched_permuted_sendrecv   inter_sched_pairwise_exchange
ialltoallv            intra_sched_blocked             inter_sched_pairwise_exchange
ialltoallw            intra_sched_blocked             inter_sched_pairwise_exchange
reduce_scatter        intra_recursive_doubling        inter_remote_reduce_local_scatter
"""

_MOST_SIZE = (1 << 31) - 1  # sizes in the file are read as int


def _leaf(key: str, algorithm: str) -> Tree:
    return {f"algorithm=MPIR_{key.capitalize()}_{algorithm}": {}}


def _guarded(collective: str, algorithm: str) -> Tree:
    """The algorithm for the calls that it is for, and another for the rest. Rabenseifner's divide the vector
    among the largest power of two of ranks, so they need as many elements, and operators that apply to parts
    of it: those built in."""
    key = _RULED[collective][0]
    leaf = _leaf(key, f"intra_{algorithm}")
    if algorithm in ("reduce_scatter_allgather", "reduce_scatter_gather"):
        general = _leaf(key, "intra_recursive_doubling" if collective == "allreduce" else "intra_binomial")
        return {
            "is_op_built_in=yes": {
                "count<pow2": general,
                "count=any": leaf
            },
            "is_op_built_in=no": general
        }
    if collective == "alltoall":
        return {
            "is_sendbuf_inplace=yes": _leaf(key, "intra_pairwise_sendrecv_replace"),
            "is_sendbuf_inplace=no": leaf
        }
    if collective == "reducescatter":
        return {"is_commutative=yes": leaf, "is_commutative=no": _leaf(key, "intra_recursive_doubling")}
    return leaf


def _by_size(collective: str, up_to: int, small: str, large: str) -> Tree:
    size = _RULED[collective][1]
    return {f"{size}<={up_to}": _guarded(collective, small), f"{size}=any": _guarded(collective, large)}


def _chosen_by_mpich(collective: str) -> Tree:
    """The sizes are the defaults of MPICH's variables: MPIR_CVAR_BCAST_SHORT_MSG_SIZE 12288, ALLREDUCE_ and
    REDUCE_SHORT_MSG_SIZE 2048, ALLTOALL_SHORT_MSG_SIZE 256 and MEDIUM 32768, ALLGATHER_SHORT_MSG_SIZE 81920
    and LONG 524288, REDUCE_SCATTER_COMMUTATIVE_LONG_MSG_SIZE 524288. MPICH takes Bruck's Alltoall and
    Broadcasts that scatter from 8 ranks on. Left out is the scatter with recursive doubling, of Broadcasts of
    medium size: the ring is taken for them, too."""
    if collective == "broadcast":
        return {
            "comm_size<=7": _leaf("bcast", "intra_binomial"),
            "comm_size=any": _by_size(collective, 12288, "binomial", "scatter_ring_allgather")
        }
    if collective == "allreduce":
        return _by_size(collective, 2048, "recursive_doubling", "reduce_scatter_allgather")
    if collective == "reduce":
        return _by_size(collective, 2048, "binomial", "reduce_scatter_gather")
    if collective == "alltoall":
        large = _by_size(collective, 32768, "scattered", "pairwise")
        return {
            "comm_size<=7": large,
            "comm_size=any": {
                "avg_msg_size<=256": _guarded(collective, "brucks"),
                "avg_msg_size=any": large
            }
        }
    if collective == "allgather":
        return {
            "comm_size=pow2": _by_size(collective, 524287, "recursive_doubling", "ring"),
            "comm_size=any": _by_size(collective, 81919, "brucks", "ring")
        }
    if collective == "reducescatter":
        return _by_size(collective, 524287, "recursive_halving", "pairwise")
    return _guarded(collective, "binomial")


def _of_rules(rules: Rules) -> Tree:
    """A rule holds up to the byte before the next one ("<=" includes its bound). The last rule that starts
    within _MOST_SIZE holds for the rest: MPICH itself cannot read larger bounds."""
    size = _RULED[rules.collective][1]
    tree = {}
    for _, most, algorithm in rules.ranges():
        below = _guarded(rules.collective, algorithm) if algorithm else _chosen_by_mpich(rules.collective)
        if not size:
            return below
        if most is None or most >= _MOST_SIZE:
            tree[f"{size}=any"] = below
            break
        tree[f"{size}<={most}"] = below
    return tree


def _ruled(collective: str, all_rules: Sequence[Rules]) -> Tree:
    """Rules are for exactly as many ranks as were compared. Of sets for 4 and 8 ranks: comm_size<=3 MPICH's
    choice, <=4 the first set, <=7 MPICH's choice, <=8 the second set, any MPICH's choice."""
    chosen = _chosen_by_mpich(collective)
    sets = sorted((each for each in all_rules if each.collective == collective), key=lambda each: each.ranks)
    tree, done = {}, 0  # numbers of ranks that branches are for
    for each in sets:
        if each.ranks - 1 > done:
            tree[f"comm_size<={each.ranks - 1}"] = chosen
        tree[f"comm_size<={each.ranks}"] = _of_rules(each)
        done = each.ranks
    return {**tree, "comm_size=any": chosen} if sets else chosen


def _plain(key: str, algorithm: str) -> Tree:
    """In place another algorithm; a ReduceScatter by counts goes by the operator, and then by size."""
    leaf = _leaf(key, algorithm)
    if key in ("alltoallv", "alltoallw"):
        return {
            "is_sendbuf_inplace=yes": _leaf(key, "intra_pairwise_sendrecv_replace"),
            "is_sendbuf_inplace=no": leaf
        }
    if key.startswith("ialltoall"):
        return {"is_sendbuf_inplace=yes": _leaf(key, "intra_sched_inplace"), "is_sendbuf_inplace=no": leaf}
    if key == "reduce_scatter":
        return {
            "is_commutative=yes": {
                "total_msg_size<=524287": _leaf(key, "intra_recursive_halving"),
                "total_msg_size=any": _leaf(key, "intra_pairwise")
            },
            "is_commutative=no": leaf
        }
    return leaf


def selection(all_rules: Sequence[Rules]) -> str:
    """The JSON, a line per collective, so that files can be compared."""
    tree = {}
    for collective, (key, _, inter) in _RULED.items():
        tree[key] = {
            "comm_type=intra": _ruled(collective, all_rules),
            "comm_type=inter": _leaf(key, f"inter_{inter}")
        }
    for line in _PLAIN.strip().splitlines():
        key, intra, inter = line.split()
        tree[key] = {"comm_type=intra": _plain(key, intra)}
        if inter != "-":
            tree[key]["comm_type=inter"] = _leaf(key, inter)
    rows = (f'"collective={key}":{json.dumps(below, separators=(",", ":"))}' for key, below in tree.items())
    return "{" + ",\n".join(rows) + "}\n"
