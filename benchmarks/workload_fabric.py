"""Optimizers over an emulated fabric: see workloads.py. Schedules as the paper has them, as processes of MPI
in network namespaces joined by shaped links (benchmarks/fabric), interleaved."""
import json
import pathlib
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).with_name("fabric")))
from machine import NAMED
from network import Network, why_not

ADAM = "avg, m_, v_, m1, v1, p_"
LAMB = "avg, m_, v_, m1, v1, u, p_norm_1, p_norm_2, u_norm_1, u_norm_2"
SCRIPTS = {
    "adam": {"AR-Opt": f"fuse(comp; {ADAM})",
             "fuse(RS-Opt-AG)": f"fuse(comp; {ADAM}); split(sum, rs_sum); reorder(sum; comp); asSlice(m); asSlice(v); "
                                "fuse(s_comp; rs_sum, s_comp); fuse(s_comp; s_comp, p_)"},
    "lamb": {"AR-Opt": f"fuse(comp; {LAMB}); fuse(comp_2; p_norm, u_norm, ratio, p_)",
             "fuse(RS-Opt-AG)": f"fuse(comp; {LAMB}); fuse(comp_2; p_norm, u_norm, ratio, p_); split(sum, rs_sum); reorder(sum; comp, comp_2); "
                                "asSlice(m); asSlice(v); fuse(s_comp; rs_sum, s_comp); fuse(comp_2; comp_2, s_comp_2); fuse(comp_2; comp_2, p_)"}}
PAPER = {"adam": (1.2, 1.7), "lamb": (1.35, 2.0)}


def us_of(text):
    return float(re.search(r"best of \d+: ([\d.]+) us", text)[1])


def measured(tools, name, machine, elements, rounds):
    """By schedule: times of the whole, round by round."""
    example = next(each for each in tools.examples if each.stem == name)
    description = tools.work / "machine.json"
    # beta as 8 / unit; alpha of a message over TCP here.
    description.write_text(json.dumps(dict(machine.text, alpha_us=20, beta_us_per_byte=8 / machine.unit)))
    folders = {}
    for number, (schedule, script) in enumerate(SCRIPTS[name].items()):
        folders[schedule] = tools.work / f"{name}_fabric_{number}"
        subprocess.run(["rm", "-rf", folders[schedule]])
        tools.run(tools.chorale, "compile", example, "--machine", description, "--ranks", machine.ranks, "-o", folders[schedule], "--apply", script,
                  "--set", f"N={elements}")
        tools.run("make", "-s", "mpi", cwd=folders[schedule])
    times = {schedule: [] for schedule in folders}
    with Network(machine, most_mbit=100_000) as network:
        for _ in range(rounds):
            for schedule, folder in folders.items():
                times[schedule].append(us_of(network.mpirun([folder / f"{name}_mpi", "--runs", 3], cwd=folder)))
    return times


def compute_share(tools, name, elements, runs=5):
    """Of AR-Opt, what is not communication: its time on one rank."""
    example = next(each for each in tools.examples if each.stem == name)
    folder, one = tools.work / f"{name}_alone", tools.work / "one.json"
    one.write_text(json.dumps({"topology": "one", "ranks": 1, "links": []}))
    subprocess.run(["rm", "-rf", folder])
    tools.run(tools.chorale, "compile", example, "--machine", one, "--ranks", 1, "-o", folder, "--apply", SCRIPTS[name]["AR-Opt"], "--set",
              f"N={elements}")
    tools.run("make", "-s", "threads", cwd=folder)
    return us_of(tools.run(f"./{name}_threads", "--runs", runs, cwd=folder))


def fabric(tools, elements, units, rounds):
    reason = why_not()
    if reason:
        print(f"SKIPPED: no fabric here: {reason}")
        return
    for name in SCRIPTS:
        least, most = PAPER[name]
        print(f"{name}, {elements} elements of float32, 4 ranks on ring4: milliseconds of AR-Opt and of fuse(RS-Opt-AG), how many times faster "
              f"(median of {rounds} rounds, interleaved, each the best of 3); the paper, on GPUs, has {least} to {most}")
        alone = compute_share(tools, name, elements)
        print(f"  AR-Opt's computations by themselves, one rank on one processor: {alone / 1e3:.1f} ms")
        for unit in units:
            machine = NAMED["ring4"]()
            machine.unit = unit
            times = measured(tools, name, machine, elements, rounds)
            ratios = sorted(a / b for a, b in zip(times["AR-Opt"], times["fuse(RS-Opt-AG)"]))
            print(f"  links of {unit:6g} Mbit/s: {statistics.median(times['AR-Opt']) / 1e3:9.1f}  {statistics.median(times['fuse(RS-Opt-AG)']) / 1e3:9.1f}   "
                  f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
