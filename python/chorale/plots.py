"""Drawings of matplotlib: the figure of the pages (time and bus bandwidth over message size), a frontier, and
a ranking of placements. Each draws on axes that it is given, or on new ones, and returns them."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

from chorale._chorale import Ranking, Result
from chorale.errors import InputError, needed

FOUND, BOUND, BASELINE = "#1a5fd0", "#b3261e", "#9a4a00"  # as the pages have them


def _axes(given: Any, count: int, purpose: str) -> List[Any]:
    if given is None:
        pyplot = needed("matplotlib.pyplot", purpose)
        _, axes = pyplot.subplots(1, count, figsize=(5 * count, 4), layout="constrained", squeeze=False)
        return list(axes[0])
    axes = list(given) if isinstance(given, (list, tuple)) or hasattr(given, "ravel") else [given]
    if len(axes) != count:
        raise InputError(f"axes: are {len(axes)}; give {count}")
    return axes


def _size(bytes: float, _: Any = None) -> str:
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if bytes >= unit:
            return f"{bytes / unit:g} {name}"
    return f"{bytes:g} B"


def over_sizes(axes: Any,
               title: str,
               sizes: Sequence[int],
               factor: float,
               curves: Dict[str, Sequence[float]],
               purpose: str = "plot()") -> List[Any]:
    """Time, and bus bandwidth, over message size; `curves` are microseconds by size, 0 where not known;
    "Chorale" and "bound" are drawn as on the pages, all others as baselines. Sizes of 0 bytes have no place
    on the axis."""
    time, rate = _axes(axes, 2, purpose)
    for name, times in curves.items():
        known = [(size, us) for size, us in zip(sizes, times) if size > 0 and us > 0]
        colour, style = {"Chorale": (FOUND, "-"), "bound": (BOUND, "-.")}.get(name, (None, "--"))
        look = {
            "label": name,
            "color": colour,
            "linestyle": style,
            "marker": "." if name == "bound" else "o",
            "markersize": 4
        }
        time.plot([size for size, _ in known], [us for _, us in known], **look)
        rate.plot([size for size, _ in known], [size / us / 1e3 * factor for size, us in known], **look)
    for axis, label in ((time, "microseconds"), (rate, "bus bandwidth (GB/s)")):
        axis.set_xscale("log", base=2)
        axis.xaxis.set_major_formatter(_size)
        axis.tick_params(axis="x", labelrotation=30)
        axis.set(xlabel="message size", ylabel=label)
        axis.grid(True, linewidth=0.3)
    time.set_yscale("log")
    rate.set_ylim(bottom=0)
    time.set_title(title)
    time.legend(fontsize="small")
    return [time, rate]


def frontier(result: Result, ax: Any = None) -> Any:
    """Points by steps and rounds per chunk: each stair is what the frontier gives for that number of steps or
    more."""
    (ax,) = _axes(ax, 1, "plot()")
    best = sorted((point.steps, float(point.rate)) for point in result.points if point.on_frontier)
    if best:
        last = best[-1][0] + max(1, best[-1][0] - best[0][0]) / 4
        ax.step([steps for steps, _ in best] + [last], [rate for _, rate in best] + [best[-1][1]],
                where="post",
                color=FOUND,
                linewidth=1)
    for proven, label, marker in ((True, "proven", "o"), (False, "not proven", "x")):
        points = [point for point in result.points if point.on_frontier and point.proven == proven]
        if points:
            ax.plot([point.steps for point in points], [float(point.rate) for point in points],
                    marker,
                    color=FOUND,
                    label=label)
    beaten = [point for point in result.points if not point.on_frontier]
    if beaten:
        ax.plot([point.steps for point in beaten], [float(point.rate) for point in beaten],
                ".",
                color="0.6",
                label="dominated")
    if result.rate_bound is not None:
        ax.axhline(float(result.rate_bound), linestyle="-.", color=BOUND, label="bound of any schedule")
    ax.set(xlabel="steps",
           ylabel="rounds per chunk",
           title=f"{result.topology.name}, {result.collective.name}")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize="small")
    return ax


def placements(ranking: Ranking, most: int = 20, ax: Any = None) -> Any:
    """The best placements, each with its best strategies and with single AllReduces."""
    (ax,) = _axes(ax, 1, "plot()")
    rows = ranking.best[:most]
    names = [str(row["matrix"]) for row in rows]
    at = list(range(len(rows)))
    ax.barh([y - 0.2 for y in at], [row["us"] for row in rows], 0.4, color=FOUND, label="best strategies")
    ax.barh([y + 0.2 for y in at], [row["allreduce_us"] for row in rows],
            0.4,
            color=BASELINE,
            label="one AllReduce")
    ax.set_yticks(at, names)
    ax.invert_yaxis()
    ax.set(xlabel="microseconds", title=ranking.hierarchy.name)
    ax.legend(fontsize="small")
    return ax


def result_over_sizes(result: Result, sizes: Sequence[int], ax: Optional[Any] = None) -> List[Any]:
    rows = result.by_size(list(sizes))
    factor = max((row.busbw_gbs / row.algbw_gbs for row in rows if row.algbw_gbs > 0), default=1.0)
    return over_sizes(ax, f"{result.topology.name}, {result.collective.name}",
                      [row.message_bytes for row in rows], factor, {
                          "Chorale": [row.us for row in rows],
                          "bound": [row.least_us for row in rows]
                      })
