#!/usr/bin/env python3
"""chorale calibrate: under mpirun, by logs of others, and with wrong input. No time is looked at, but that it
is one.

Usage: calibrate.py CHORALE
"""
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import mpirun, refused, run, work  # noqa: E402

chorale = str(pathlib.Path(sys.argv[1]).resolve())


def measured(ranks, *arguments, code=0):
    return mpirun(ranks, chorale, "calibrate", *arguments, code=code)


before = json.loads(run(chorale, "topology", "show", "dgx1", "--json").stdout)
two_kinds = {**before, "topology": "two kinds", "ranks": 3, "switches": 0, "limits": [],
             "links": [{**before["links"][0], "src": a, "dst": b, "bandwidth": 1 + (a + b == 1)} for a in range(3) for b in range(3) if a != b]}
(work / "two.json").write_text(json.dumps(two_kinds))
done = measured(3, "two.json", "--times", 11, "-o", "mine.json", "--json", "said.json")
assert "2 links like 0 -> 1" in done.stdout and "4 links like" in done.stdout, done.stdout
mine, said = json.loads((work / "mine.json").read_text()), json.loads((work / "said.json").read_text())
assert len(said["classes"]) == 2 and len(said["together"]) == 2, said
for each in said["classes"]:
    alpha, beta = each["alpha_us"], each["beta_us_per_byte"]
    assert 0 <= alpha["least"] <= alpha["median"] <= alpha["most"] and each["shared"] >= 1, each
    if beta is None:  # other work on this machine drowned it
        assert "the rate of" in done.stdout and "is not measured: as described" in done.stdout, done.stdout
    else:
        assert 0 < beta["least"] <= beta["median"] <= beta["most"], each
    for number in each["links"]:
        link, was = mine["links"][number], two_kinds["links"][number]
        expected = was["beta_us_per_byte"] if beta is None else beta["median"] * each["shared"]
        assert abs(link["beta_us_per_byte"] - expected) <= 1e-9 * expected, (link, each)
        assert link["alpha_us"] == alpha["median"], (link, each)
assert [(l["src"], l["dst"], l["bandwidth"]) for l in mine["links"]] == [(l["src"], l["dst"], l["bandwidth"]) for l in two_kinds["links"]]
run(chorale, "frontier", "mine.json", "allgather", "-q")  # it is a machine like any other
# Switches stay, and get numbers; --alone leaves out the rest.
star = {**two_kinds, "topology": "star", "ranks": 2, "switches": 1,
        "links": [{**before["links"][0], "src": a, "dst": b, "bandwidth": 1} for a, b in ((0, 2), (2, 0), (1, 2), (2, 1))]}
(work / "star.json").write_text(json.dumps(star))
said = json.loads(measured(2, "star.json", "--times", 11, "--pairs", 1, "--alone", "-q", "--json", "-").stdout)
assert said["together"] == [] and said["classes"][0]["shared"] == 1, said
measured(2, "ring:4", code=2)

# Logs.
(work / "latency.txt").write_text("# OSU MPI Latency Test v7.2\n# Size  Latency (us)\n1 2.5\n1000 3\n")
(work / "rate.txt").write_text("# OSU MPI Bandwidth Test v7.2\n# Size  Bandwidth (MB/s)\n1000000 10000\n2000000 10000\n")
done = run(chorale, "calibrate", "two.json", "--log", "0-1=latency.txt", "0-1=rate.txt", "-o", "logged.json")
assert "the latency and rate of 4 links like" in done.stdout, done.stdout
links = json.loads((work / "logged.json").read_text())["links"]
fast = [link for link in links if link["bandwidth"] == 2]
assert len(fast) == 2 and all(abs(link["beta_us_per_byte"] - 2e-4) < 1e-12 and abs(link["alpha_us"] - 2.4999) < 1e-9 for link in fast), fast
assert [link for link in links if link["bandwidth"] == 1] == [link for link in two_kinds["links"] if link["bandwidth"] == 1]
# Of a collective: what the baselines take and 5 us more for the call, at half the rate and twice the latency.
slow = {**json.loads(run(chorale, "topology", "show", "ring:4", "--json").stdout), "topology": "slow"}
for link in slow["links"]:
    link["alpha_us"], link["beta_us_per_byte"] = 2 * link["alpha_us"], 2 * link["beta_us_per_byte"]
(work / "slow.json").write_text(json.dumps(slow))
rows = json.loads(run(chorale, "optimize", "slow.json", "allreduce", "--sizes", "64:1G:4", "--search-time", "50ms", "--json", "-", code=(0, 3)).stdout)["rows"]
(work / "all_reduce.log").write_text("#  size  count  type  redop  root  time  algbw  busbw  #wrong\n" + "".join(
    "{0} 1 float sum -1 {1:.3f} {2:.2f} {3:.2f} 0\n".format(row["message_bytes"], us, rate, 1.5 * rate)
    for row in rows for us in [5 + row["baseline_us"]] for rate in [row["message_bytes"] / us / 1e3]))
done = run(chorale, "calibrate", "ring:4", "--log", "allreduce=all_reduce.log", "-o", "fit.json", "--json", "said.json")
fit, said = json.loads((work / "fit.json").read_text()), json.loads((work / "said.json").read_text())["collectives"][0]
assert said["off"] < 0.02 < 0.3 < said["off_before"] and said["name"] == "allreduce", said
for link, real in zip(fit["links"], slow["links"]):
    assert abs(link["beta_us_per_byte"] / real["beta_us_per_byte"] - 1) < 0.02, (link, real)
assert fit["call_us"] + 6 * fit["links"][0]["alpha_us"] > 5 and "off by" in done, (fit["call_us"], done)
refused("calibrate", "ring:4", "--log", "shuffle=all_reduce.log", says="neither two ranks nor a collective")
refused("calibrate", "ring:4", "--log", "all_reduce.log", says="does not name its collective; use COLLECTIVE=FILE")
(work / "named.log").write_text("# Collective test starting: all_reduce_perf\n" + (work / "all_reduce.log").read_text())
run(chorale, "calibrate", "ring:4", "--log", "named.log", "-o", "again.json")
assert json.loads((work / "again.json").read_text()) == fit, "a log names its collective"
refused("calibrate", "ring:4", "--log", "allgather=named.log", says="is of another test: all_reduce_perf")
# Of eight GPUs what two measured, and four times what their links carry.
public = pathlib.Path(__file__).resolve().parents[1] / "data" / "repro" / "public"
refused("calibrate", "dgx-a100:1", "--log", f"allreduce={public / 'nccl_tests_2021.log'}", says="is of 4 ranks, and the machine has 8")
TITLES = "#  size  count  type  redop  root  time  algbw  busbw  #wrong\n"
(work / "fast.log").write_text(TITLES + "".join(f"{size} 1 float sum -1 {5 + size / 1e6:.3f} {size / (5 + size / 1e6) / 1e3:.2f} {1.75 * size / (5 + size / 1e6) / 1e3:.2f} 0\n" for size in (2**20, 2**26, 2**30)))
done = " ".join(run(chorale, "calibrate", "dgx-a100:1", "--log", "allreduce=fast.log", "--json", "said.json").split())
assert "is above the line rate, 300 GB/s: the log may be of another machine" in done, done
assert json.loads((work / "said.json").read_text())["classes"][0]["line_gbs"] == 300
done = " ".join(run(chorale, "optimize", "dgx-a100:1", "allreduce", "--log", "fast.log", "--effort", "1", code=(0, 3)).split())
assert "is less than the bound" in done and "that is what this algorithm gives here" not in done, done
assert "a peak of 229.2 GB/s" in " ".join(run(chorale, "optimize", "dgx-a100:1", "allreduce", "--log", public / "tagged.log", "--effort", "1", code=(0, 3)).split())

refused("calibrate", "ring:4", says="was not started by mpirun")
refused("calibrate", "ring:4", "--log", "0=latency.txt", says="is not a log of two ranks")
refused("calibrate", "ring:4", "--log", "0-4=latency.txt", says="are not two ranks of ring:4")
refused("calibrate", "ring:4", "--log", "0-2=latency.txt", says="nothing leads 0 -> 2")
refused("calibrate", "ring:4", "--log", "0-1=two.json", says="is not a known log")
refused("calibrate", "ring:4", "--log", "0-1=nothing.txt", says="cannot be read")
refused("calibrate", "ring:4", "--log", "0-1=latency.txt", "--times", "3", says="--times")
refused("calibrate", "ring:4", "--log", "0-1=latency.txt", "-o", "-", "--json", "-", says="standard output cannot hold two")
assert not list(work.glob("*.tmp*")) and not (work / "f.json").exists()
print("calibrate measures, reads logs, and says what is wrong")
