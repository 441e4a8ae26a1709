#!/usr/bin/env python3
"""The Python package reports what the command line states: every call on small inputs is compared with the
program's JSON, runs on arrays against numpy's sums; what is wrong is refused; other threads run meanwhile;
Ctrl-C keeps what was found.

Usage: package.py CHORALE SOURCE_DIRECTORY [SEED]    (with the package on the path)
"""
import ast
import faulthandler
import functools
import inspect
import html
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else 20261123
try:
    import numpy as np

    import chorale
    from chorale import m2n

    chorale.frontier
except (ImportError, AttributeError) as error:
    print(f"left out: {error}")
    sys.exit(77)

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from kit.program import run_chorale as says, work as WORK  # noqa: E402
from kit import stored  # noqa: E402


def without_times(text):
    return stored.without_times(json.loads(text))


def some_machine(dice):
    """Small, odd, uneven; every rank reaches every other, by a ring that is there in one direction at
    least."""
    ranks = dice.randint(2, 5)
    ends = {(n, (n + 1) % ranks) for n in range(ranks)} | {tuple(dice.sample(range(ranks), 2)) for _ in range(dice.randint(0, 5))}
    links = [chorale.Link(a, b, bandwidth=dice.randint(1, 3), alpha_us=dice.choice([0, 0.7, 3.0])) for a, b in sorted(ends)]
    limits = []
    if dice.random() < 0.5:
        limits = [chorale.SharedLimit("nic", sorted(dice.sample(range(len(links)), min(2, len(links)))), dice.randint(1, 2))]
    return chorale.Topology(f"m{dice.randint(0, 99)}", ranks, links, limits)


class SameAnswers(unittest.TestCase):
    def same_frontier(self, machine, spec, collective, root=None):
        options = ["--root", root] if root is not None else []
        ours = chorale.frontier(machine, collective, root=root, max_chunks=2, conflicts=2000)
        theirs = says("frontier", spec, collective, "--max-chunks", 2, "--conflicts", 2000, "--json", "-", *options,
                      code=0 if ours.complete and ours.points else 20 if ours.complete else 3)
        self.assertEqual(without_times(ours.to_json()), without_times(theirs))
        return ours

    def test_a_plan_of_an_alltoallv(self):
        rows = [[int(word) for word in line.split(",")] for line in (SOURCE / "examples/alltoallv.csv").read_text().split()]
        ours = chorale.alltoallv(rows, 4, rates="nic=25")
        theirs = json.loads(says("alltoallv", SOURCE / "examples/alltoallv.csv", "--nodes", 4, "--rates", "nic=25", "--json", "-"))
        for each in (ours, theirs):
            each.pop("planning_ms")
        self.assertEqual(ours, theirs)
        self.assertRaises(chorale.InputError, chorale.alltoallv, rows, 3)

    def test_frontiers_of_random_machines(self):
        dice = random.Random(SEED)
        for number in range(12):
            machine, collective = some_machine(dice), dice.choice(chorale.collectives())
            (WORK / f"{number}.json").write_text(machine.to_json())
            self.assertEqual(chorale.machine(WORK / f"{number}.json"), machine)
            root = dice.randrange(machine.ranks) if collective in ("broadcast", "reduce", "gather", "scatter") else None
            with self.subTest(seed=SEED, number=number, collective=collective):
                result = self.same_frontier(machine, f"./{number}.json", collective, root)
                again = chorale.Result.from_json(result.to_json())
                self.assertEqual(again.to_json(), result.to_json())
                report = result.check(lrat=WORK / "ours" / str(number), pb=WORK / "ours" / str(number))
                (WORK / "r.json").write_text(result.to_json())
                theirs = json.loads(says("check", "r.json", "--json", "-", "--lrat", "theirs", "--pb", "theirs"))
                for index in "lrat.json", "pb.json":
                    self.assertEqual((WORK / "ours" / str(number) / index).read_text(), (WORK / "theirs" / index).read_text())
                self.assertTrue(report.ok)
                refuted = theirs["refutations"]
                self.assertEqual((report.schedules, report.bounds, report.plain, report.refutations - report.plain, report.undecided),
                                 (theirs["schedules"], theirs["bounds"], refuted["by_the_plain_formula"],
                                  refuted["by_the_searchs_formula"], refuted["undecided"]))

    def test_machines_with_switches_and_failures(self):
        self.same_frontier("hub:4", "hub:4", "broadcast", 1)
        ours = chorale.frontier(chorale.machine("dgx1", without_links=["0-1"], degraded=["2-3=0.5"]), "allgather")
        theirs = says("frontier", "dgx1", "allgather", "--without-link", "0-1", "--degrade", "2-3=0.5", "--json", "-")
        self.assertEqual(without_times(ours.to_json()), without_times(theirs))

    def test_optimize_is_as_the_command(self):
        answer = chorale.optimize("ring:4", "allreduce", sizes=["1K", "1Mi", 1 << 30])  # as the command line has them
        theirs = json.loads(says("optimize", "ring:4", "allreduce", "--sizes", "1K,1M,1G", "--json", "-", code=(0, 3)).stdout)
        self.assertEqual((answer.complete, answer.search), (theirs["complete"], theirs["search"]))
        self.assertEqual(answer.rows, theirs["rows"])
        self.assertEqual(answer.conclusion, theirs["conclusion"])
        self.assertIn("multi_ring_allreduce", answer.baselines)
        self.assertTrue(answer._repr_html_().startswith("<svg "))
        self.assertEqual(answer.binding, theirs["binding"])
        # Of a group a message is what a rank of it gets: three blocks, of which two come from others.
        group = chorale.collective("allgather", "dgx1", group=[0, 2, 3])
        of_group = chorale.optimize("dgx1", group, sizes=[3 << 10, 3 << 20])
        line = ["optimize", "dgx1", "allgather", "--group", "0,2,3", "--sizes", "3K,3M", "--json", "-"]
        self.assertEqual([row["us"] for row in of_group.rows], [row["us"] for row in json.loads(says(*line, code=(0, 3)).stdout)["rows"]])
        self.assertEqual(of_group.result.best(3 << 20).block_bytes, 1 << 20)
        for row in of_group.rows:
            self.assertAlmostEqual(row["busbw_gbs"], row["message_bytes"] / row["us"] / 1e3 * 2 / 3)
        self.assertEqual(answer.result.points[answer.rows[0]["point"]].steps, answer.rows[0]["steps"])
        for wrong in ({"sizes": []}, {"sizes": [-1]}, {"sizes": [2, 1]}, {"sizes": [1, 1]}, {"baselines": "rings"}, {"search_time": -1}, {"time": "epochs"}):
            with self.assertRaises(chorale.InputError):
                chorale.optimize("ring:4", "allreduce", **wrong)

    def test_compare_is_as_the_command(self):
        answer = chorale.compare("ring:4", "full:4", "allreduce", sizes=[1 << 20, 1 << 10], search_time=2)
        theirs = json.loads(says("compare", "ring:4", "full:4", "allreduce", "--sizes", "1K,1M", "--search-time", "2", "--json", "-"))
        self.assertEqual([(answer.sides, answer.limits), [row["message_bytes"] for row in answer.sizes[0]["rows"]]],
                         [(theirs["sides"], theirs["limits"]), [1 << 10, 1 << 20]])
        self.assertTrue(answer.svg.startswith("<svg") and answer._repr_html_().startswith(answer.svg) and answer.conclusions)
        bounds = chorale.compare("ring:4", "full:4", ["allgather"])
        self.assertEqual((bounds.svg, bounds.sizes, [each[0]["collective"] for each in bounds.limits]), ("", [], ["allgather"] * 2))
        for wrong in ({"sizes": [-1]}, {"collectives": ["nonsense"]}, {"nodes": 2}, {"search_time": 0}):
            with self.assertRaises(chorale.InputError, msg=wrong):
                chorale.compare("ring:4", "full:4", **wrong)

    def test_designs(self):
        """A machine and schedules that are the ranking's first, and proven: each machine of four links has at least (n-1)/4 rounds of an Allgather."""
        answer = chorale.design(ranks=9, degree=4, job={"allgather": 1, "alltoall": 2}, search_time=2)
        self.assertTrue(answer["proven"])
        machine = answer["machine"]
        self.assertEqual((machine.ranks, len(machine.links), machine.name), (9, 36, answer["best"][0]["name"]))
        rounds, chunks = answer["best"][0]["rates"][0]["found"]
        self.assertEqual(rounds, 2 * chunks)
        for name in ("allgather", "alltoall"):
            self.assertFalse(chorale.check(answer["results"][name]).faults)
        with self.assertRaisesRegex(chorale.InputError, "weight"):
            chorale.design(ranks=9, job={"alltoall": 0})

    def test_reads_models_of_m2n(self):
        """Two stages of two ranks each, which share the experts of a layer; a rollout of two ranks that cut every matrix in halves."""
        layer = {"self_attn.q_proj.weight": [8, 8], "input_layernorm.weight": [8], **{f"mlp.experts.{e}.gate_proj.weight": [6, 8] for e in range(4)}}
        model = {f"model.layers.{n}.{name}": {"shape": shape, "dtype": "F8_E4M3" if "experts" in name else "BF16"} for n in (0, 1) for name, shape in layer.items()}
        model["model.embed_tokens.weight"] = {"shape": [10, 8], "dtype": "BF16"}
        model["model.norm.weight"] = {"shape": [8], "dtype": "BF16"}
        system = {"train": {"num_gpus": 4, "tp_size": 1, "ep_size": 2, "pp_size": 2}, "generation": {"num_gpus": 2, "tp_size": 2}}
        asked = m2n.question(model, system)
        experts = [each for each in asked["tensors"] if "experts" in each["name"]]
        self.assertEqual([(each["shape"], each["element_bytes"], each["from"], each["to"]) for each in experts],
                         [([4, 6, 8], 1, {"ranks": ranks, "mesh": [1, 2], "placements": ["replicate", "shard(0)"]},
                           {"ranks": [4, 5], "mesh": [1, 2], "placements": ["replicate", "shard(1)"]}) for ranks in ([0, 1], [2, 3])])
        moved = chorale.reshard("full:6", asked, search_time=1)
        norms = 2 * 8 * 2 * 3  # both ranks want the three of them whole
        self.assertEqual(moved["bytes"], 2 * 4 * 6 * 8 + 2 * 8 * 8 * 2 + 10 * 8 * 2 + norms)
        self.assertEqual(sum(each["count"] for each in m2n.question(model, system, layers=8)["tensors"]), 8 * 3 + 2)
        for wrong in ({"train": {}}, {**system, "generation": {"num_gpus": 2, "tp_size": 2, "ep_size": 2}}, {**system, "train": {"num_gpus": 4, "pp_size": 3}}):
            with self.assertRaises(chorale.InputError, msg=wrong):
                m2n.question(model, wrong)
        with self.assertRaisesRegex(chorale.InputError, "shape"):
            m2n.question({"w": {"shape": []}}, system)

    def test_orders_and_reshards(self):
        """As the files of the command line are, of the examples; a mapping is as good as a file."""
        answer = chorale.order(SOURCE / "examples/topology.conf", SOURCE / "examples/order.json", hosts="n[01-03,09-13]", tapers=[8])
        self.assertTrue(answer["proven"])
        self.assertEqual(answer["files"]["hosts"].split(), answer["hosts"])
        self.assertIn("no order takes less time (the bound is met)", answer.report["sentences"])
        self.assertEqual([table["title"] for table in answer.report["tables"]], ["Nodes", "Communications", "Orders"])
        self.assertEqual(answer._repr_html_().count("<table>"), 3)
        self.assertEqual(sorted(answer["hosts"]), [f"n{n:02}" for n in (1, 2, 3, 9, 10, 11, 12, 13)])
        with self.assertRaisesRegex(chorale.InputError, "bracket"):
            chorale.order(SOURCE / "examples/topology.conf", SOURCE / "examples/order.json", hosts="n[01")
        question = {"reshard": "halves", "from": {"ranks": [0, 1], "mesh": [2]}, "to": {"ranks": [2, 3], "mesh": [2]},
                    "tensors": [{"name": "w", "shape": [4, 6], "from": ["shard(0)"], "to": ["replicate"]}]}
        moved = chorale.reshard("full:4", question, search_time=1)
        self.assertEqual(moved["bytes"], 2 * 4 * 6 * 2)
        self.assertFalse(chorale.check(moved["result"]).faults)
        self.assertEqual(json.loads(moved["files"]["plan.json"])["ranks"], 4)

    def test_options_of_imports_are_those_of_machines(self):
        node = SOURCE / "examples/node.xml"
        self.assertEqual(chorale.machine(node, nodes=2).to_json(), chorale.machine(node, nodes=2, nic_gbits=200).to_json())
        self.assertEqual(chorale.machine(node, nodes=3).ranks, 12)
        levels = chorale.hierarchy(node, nodes=3)
        self.assertEqual(levels.levels, [("node", 3), ("gpu", 4)])
        ranking = chorale.place(levels, axes={"data": 3, "tensor": 4}, reduce="data", bytes=1 << 20, present="data,tensor")
        self.assertTrue(ranking.sentences[0].startswith("Best: ") and ranking.sentences[-1].startswith("Present placement: "), ranking.sentences)
        self.assertEqual((ranking.engine, ranking.solver), ("enumerate", None))
        solved = chorale.place(levels, axes={"data": 3, "tensor": 4}, reduce="data", bytes=1 << 20, engine="sat")
        self.assertTrue(solved.solver.complete and solved.solver.nothing_longer and solved.solver.strategies >= 3, solved.solver)
        self.assertEqual(solved.sentences[0], ranking.sentences[0])
        with self.assertRaises(chorale.InputError):
            chorale.place(levels, axes={"data": 3, "tensor": 4}, reduce="data", bytes=1 << 20, engine="guess")
        as_list = chorale.place(levels, axes={"data": 3, "tensor": 4}, reduce="data", bytes=1 << 20, present=list(range(12)))
        self.assertEqual(as_list.sentences[-1], ranking.sentences[-1])
        for wrong in ({"nodes": 0}, {"instance": "pdp-11"}, {"nvlink_gbs": -1.0}):
            with self.assertRaises(chorale.InputError, msg=wrong):
                chorale.machine(node, **wrong)
        with self.assertRaises(chorale.InputError):
            chorale.machine("ring:4", nodes=2)
        with self.assertRaises(TypeError):
            chorale.machine(node, nodez=2)

    def test_a_job_is_what_the_command_writes(self):
        calls = SOURCE / "examples/calls.csv"
        self.assertEqual(chorale.job(calls), json.loads(says("job", calls, "--json", "-")))
        self.assertEqual([row["level"] for row in chorale.job(calls, machine="ring:16", search_time=0.2)["rows"]], ["all"] * 3)
        with self.assertRaisesRegex(chorale.InputError, "nowhere.csv: cannot be read"):
            chorale.job("nowhere.csv")

    def test_points_say_what_the_file_says(self):
        result = chorale.frontier("dgx1", "allgather", max_chunks=6)
        rows = json.loads(result.to_json())
        self.assertEqual([(p.steps, p.rounds, p.chunks, p.method, p.proven) for p in result.points],
                         [(r["steps"], r["rounds"], r["chunks"], r["method"], r["proven"]) for r in rows["points"]])
        self.assertEqual(str(result.rate_bound), "7/6")
        self.assertEqual([str(p.rate) for p in result.points if p.on_frontier], ["3/2", "7/6"])
        self.assertEqual([sum(step.rounds for step in p.schedule) for p in result.points], [p.rounds for p in result.points])
        self.assertEqual([[[send.chunk, send.link] for send in step.sends] for step in result.points[0].schedule],
                         [[[send[0], send[3]] for send in step["sends"]] for step in rows["points"][0]["schedule"]])
        self.assertEqual(len(result.claims), len(rows["claims"]))
        (WORK / "f.json").write_text(result.to_json())
        self.assertEqual(chorale.read_result(WORK / "f.json"), result)
        times = json.loads(says("show", "f.json", "--bytes", "1K:1G:32", "--json", "-"))
        sizes = [1 << 10, 1 << 15, 1 << 20, 1 << 25, 1 << 30]
        self.assertEqual([(row.message_bytes, row.block_bytes, row.point, row.us, row.busbw_gbs) for row in result.by_size(sizes)],
                         [tuple(row[key] for key in ("message_bytes", "block_bytes", "point", "us", "busbw_gbs")) for row in times["rows"]])
        self.assertEqual([row.block_bytes for row in result.by_size(sizes)], [size // 8 for size in sizes])
        self.assertEqual(result.best(1 << 20).point, 1)

    def test_pages(self):
        result = chorale.frontier("ring:4", "allreduce", max_chunks=2)
        (WORK / "f.json").write_text(result.to_json())
        page = says("show", "f.json", "--html", "-")
        self.assertEqual(result.to_page(), page)
        framed = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts"[^>]*></iframe>', result._repr_html_())
        self.assertEqual(html.unescape(framed[1]), page)

    def test_single_questions(self):
        for asked, verdict, code in (({"steps": 2, "rounds": 3, "chunks": 2}, "sat", 0), ({"steps": 1}, "unsat", 20)):
            ours = chorale.synthesize("dgx1", "allgather", **asked)
            options = [word for name, value in asked.items() for word in (f"--{name}", value)]
            theirs = says("synthesize", "dgx1", "allgather", *options, "--json", "-", code=code).stdout
            self.assertEqual(ours.verdict, verdict)
            self.assertEqual(without_times(ours.result.to_json()), without_times(theirs))
        ours = chorale.classic("ring_allreduce", "dgx1")
        self.assertEqual(without_times(ours.to_json()), without_times(says("classic", "ring_allreduce", "dgx1", "--json", "-")))
        self.assertIn("ring_allreduce", chorale.classics())
        self.assertIn("ring:n", chorale.machines())

    def test_bounds(self):
        known = chorale.bounds("dgx1", "allgather", chunks=6, steps=3)
        text = says("bounds", "dgx1", "allgather", "--chunks", 6, "--steps", 3)
        self.assertIn(f"{known.steps} steps at least", text)
        self.assertIn(f"{known.rounds.rounds} rounds at least", text)
        self.assertIn(f"{known.rate} = ", text)
        self.assertEqual((known.steps, str(known.rate), known.within), (2, "7/6", 3))
        for cell in sum(known.report["tables"][0]["rows"], []):
            self.assertIn("".join(cell.split()), "".join(text.split()))
        self.assertIn("<table>", known._repr_html_())

    def test_programs(self):
        result = chorale.frontier("ring:4", "allreduce", max_chunks=2)
        (WORK / "f.json").write_text(result.to_json())
        text = "".join(says("show", WORK / "f.json").split())
        for cell in sum(result.report["tables"][0]["rows"], []) + result.report["sentences"]:
            self.assertIn("".join(cell.split()), text)
        for target in chorale.targets():
            folder = WORK / f"by_{target}"
            folder.mkdir()
            says("emit", "f.json", "--target", target, "-o", folder / "x", "--point", 0)
            made = result.compile(target, name="x")
            theirs = sorted(path.read_bytes() for path in folder.rglob("*") if path.is_file())
            self.assertEqual(sorted(text if isinstance(text, bytes) else text.encode() for text in made.files.values()), theirs, target)
        written = result.compile("mpi").write(WORK / "written")
        self.assertEqual([path.name for path in written], ["ring_4_allreduce.cpp"])

    def test_placements(self):
        asked = dict(axes={"data": 4, "tensor": 16}, reduce="tensor", bytes=4 << 30, algorithm="ring")
        ours = chorale.place("a100:4", **asked)
        line = ["place", "a100:4", "--axes", "data=4,tensor=16", "--reduce", "tensor", "--bytes", "4G", "--algo", "ring"]
        theirs, mine = without_times(says(*line, "--json", "-")), without_times(ours.to_json())
        self.assertEqual(mine["best"], theirs["best"])
        self.assertEqual(ours.best[0], json.loads(ours.to_json())["best"][0])
        inside = chorale.place(chorale.hierarchy("a100:4"), **asked, inside=[("tensor", "node")])
        self.assertEqual(inside.matrices, json.loads(says(*line, "--inside", "tensor=node", "--json", "-"))["matrices"])
        self.assertLess(inside.matrices, ours.matrices)
        says(*line, "--emit", WORK / "placed")
        for name, text in ours.files().files.items():
            self.assertEqual((WORK / "placed" / name).read_text().splitlines()[1:], text.splitlines()[1:], name)
        columns = chorale.place("a100:4", **asked, synthesis="columns")
        self.assertEqual(json.loads(columns.to_json())["synthesis"], "columns")
        with self.assertRaisesRegex(chorale.InputError, "synthesis: unknown value 'rox'"):
            chorale.place("a100:4", **asked, synthesis="rox")
        job = SOURCE / "examples/gpt3-175b.json"
        template = SOURCE / "examples/gpt-22b-sizes.json"
        asked = ["place", "a100:4", "--job", template, "--devices", "all", "--json", "-"]
        chosen = chorale.place("a100:4", template)
        self.assertEqual(without_times(chosen.to_json()), without_times(says(*asked)))
        self.assertIn("</iframe>", chosen._repr_html_())
        fixed = chorale.place("a100:4", json.loads(template.read_text()), axes={"tensor": 8})
        self.assertEqual(without_times(fixed.to_json()), without_times(says(*asked, "--axes", "tensor=8,data,pipeline")))
        self.assertEqual(without_times(chorale.place("h100:128", job).to_json()), without_times(says("place", "h100:128", "--job", job, "--json", "-")))
        self.assertIn("<iframe", ours._repr_html_())

    def test_imports(self):
        node = SOURCE / "examples/node.xml"
        ours = chorale.import_topology(node, nodes=2)
        self.assertEqual(ours.json, json.loads(says("topology", "import", node, "--nodes", 2, "--json", "-")))
        self.assertEqual(ours.machine, chorale.Topology.from_json(says("topology", "import", node, "--nodes", 2, "-o", "-")))
        self.assertIn("ranks and switches:", ours.report)

    def test_discovers_what_the_program_does(self):
        try:
            ours = chorale.discover()
        except chorale.InputError as error:  # as on most machines that run tests
            self.assertIn("shows no GPU", str(error))
            self.assertIn("nvidia-smi", str(error))
        else:
            self.assertEqual(ours.json, json.loads(says("topology", "discover", "--json", "-")))

    def test_simulates(self):
        ring = chorale.classic("ring_allreduce", "ring:4")
        if shutil.which("smpirun"):
            row, = ring.simulate([1 << 20])
            # 6 steps of 0.7 us, and 1.5 vectors over 25 GB/s.
            self.assertEqual((row.point, row.message_bytes, row.algorithm), (0, 1 << 20, "ring_allreduce"))
            self.assertAlmostEqual(row.predicted_us, 6 * 0.7 + 1.5 * (1 << 20) * 4e-5, places=6)
            self.assertAlmostEqual(row.simulated_us / row.predicted_us, 1, places=4)
            self.assertEqual(ring.simulate([1024], points=[]), [])
            with self.assertRaises(chorale.InputError):
                ring.simulate([1024], points=[1])
        else:
            with self.assertRaisesRegex(chorale.InputError, "libsimgrid-dev"):
                ring.simulate([1 << 20])
        traces = ring.compile("chakra", message_bytes=4096)
        self.assertEqual({type(text) for name, text in traces.files.items() if name.endswith(".et")}, {bytes})
        self.assertEqual(sorted(path.read_bytes() for path in traces.write(WORK / "traces") if path.suffix == ".et"),
                         sorted(text for name, text in traces.files.items() if name.endswith(".et")))

    def test_judges_programs(self):
        ring = chorale.classic("ring_allreduce", "ring:4")
        for target in ("json", "msccl-xml", "mscclpp"):
            program = WORK / f"judged.{target}"
            text, = ring.compile(target).files.values()
            program.write_text(text)
            judged = chorale.verify_program(program)
            self.assertEqual((judged.collective, judged.ranks), ("allreduce", 4))
            self.assertEqual(set(judged.faults.values()), {""}, target)
        # What adds up is no program that only gathers.
        wrong = WORK / "wrong.json"
        wrong.write_text((WORK / "judged.json").read_text().replace('"collective": "allreduce"', '"collective": "allgather"'))
        self.assertNotIn("", chorale.verify_program(wrong).faults.values())


def what_numpy_says(collective, inputs, root, op):
    """Outputs by rank; None where a rank has none. `inputs` of ranks without one are None."""
    ranks = len(inputs)
    total = {"sum": sum, "max": lambda all_: np.maximum.reduce(list(all_))}[op]
    block = {"alltoall": ranks, "scatter": ranks, "reducescatter": ranks}.get(collective, 1)
    cut = [np.split(each, block) if each is not None else None for each in inputs]
    only = [None] * ranks
    if collective == "allgather":
        return [np.concatenate(inputs)] * ranks
    if collective == "allreduce":
        return [total(inputs)] * ranks
    if collective == "reducescatter":
        return [total([each[n] for each in cut]) for n in range(ranks)]
    if collective == "alltoall":
        return [np.concatenate([each[n] for each in cut]) for n in range(ranks)]
    if collective == "broadcast":
        return [inputs[root]] * ranks
    if collective == "scatter":
        return cut[root]
    only[root] = total(inputs) if collective == "reduce" else np.concatenate(inputs)
    return only


class OnArrays(unittest.TestCase):
    def test_every_collective_on_random_machines(self):
        dice = random.Random(SEED + 1)
        for collective in chorale.collectives():
            machine, dtype = some_machine(dice), dice.choice(["float32", "int64", "uint8", "float16"])
            root = dice.randrange(machine.ranks) if collective in ("broadcast", "reduce", "gather", "scatter") else None
            result = chorale.frontier(machine, collective, root=root, max_chunks=3, conflicts=500)
            blocks = machine.ranks if collective in ("alltoall", "scatter", "reducescatter") else 1
            for point in range(len(result.points)):
                for elements in (0, 1, 5, 1003):
                    has = [collective not in ("broadcast", "scatter") or n == root for n in range(machine.ranks)]
                    inputs = [np.array([dice.randrange(8) for _ in range(elements * blocks)], dtype) if h else None for h in has]
                    kept = [None if each is None else each.copy() for each in inputs]
                    op = dice.choice(["sum", "max"])
                    outputs = result.run(inputs, point=point, op=op)
                    with self.subTest(seed=SEED, machine=machine.to_json(), collective=collective, point=point, elements=elements):
                        for mine, theirs in zip(outputs, what_numpy_says(collective, inputs, root, op)):
                            np.testing.assert_array_equal(mine, np.zeros(0) if theirs is None else theirs)
                            self.assertTrue(theirs is None or mine.dtype == theirs.dtype)
                        for before, after in zip(kept, inputs):
                            self.assertTrue(before is None or np.array_equal(before, after))

    def test_shapes_are_kept_where_sizes_are(self):
        result = chorale.frontier("ring:3", "allreduce")
        inputs = [np.arange(6.0).reshape(2, 3).T * (n + 1) for n in range(3)]  # not contiguous
        for each in result.run(inputs):
            np.testing.assert_array_equal(each, sum(inputs))
        self.assertTrue(all(each.flags.writeable for each in result.run(inputs)))

    def test_measured(self):
        rows = chorale.frontier("ring:4", "allgather").measure([4, 4000], type="int32", iterations=2)
        self.assertEqual([(row.message_bytes, row.block_bytes, row.type, row.wrong) for row in rows],
                         [(0, 0, "int32", 0), (4000, 1000, "int32", 0)])


class Errors(unittest.TestCase):
    def test_groups_and_counts(self):
        rows = chorale.collective("allgather", "mesh:2x3", groups="row")
        self.assertEqual(rows.to_json(), chorale.collective("allgather", "mesh:2x3", groups=[[0, 1, 2], [3, 4, 5]]).to_json()
                         .replace("of 2 groups", "of each row"))
        uneven = chorale.collective("alltoallv", "ring:4", group=[3, 1], counts=[[0, 2], [1, 0]])
        self.assertEqual([(list(chunk.pre), list(chunk.post)) for chunk in uneven.chunks], [([3], [1]), ([3], [1]), ([1], [3])])
        result = chorale.frontier("ring:4", chorale.collective("allgatherv", "ring:4", counts=(2, 0, 1, 0)))
        self.assertTrue(result.points)
        self.assertFalse(chorale.check(result).faults)

    def test_bad_input(self):
        ring = chorale.machine("ring:4")
        result = chorale.frontier(ring, "allgather")
        four = [np.zeros(3, "f4")] * 4
        for call, words in [
                (lambda: chorale.machine("rong:4"), "did you mean 'ring'?"),
                (lambda: chorale.machine("./nowhere.json"), "nowhere.json"),
                (lambda: chorale.machine("ring:4", without_links=["0-2"]), "0-2"),
                (lambda: chorale.frontier(ring, "allgathr"), "allgather"),
                (lambda: chorale.frontier(ring, "broadcast", root=4), "root 4"),
                (lambda: chorale.frontier(ring, "allgather", root=1), "has no root"),
                (lambda: chorale.frontier(ring, chorale.collective("allgather", "ring:5")), "is of 5 ranks"),
                (lambda: chorale.collective("allgather", ring, group=[0, 4]), "'4' is not a rank of ring:4"),
                (lambda: chorale.collective("allgather", ring, group=[]), "a list is empty"),
                (lambda: chorale.collective("allgather", ring, groups=[[0, 1], [1]]), "rank 1 is in two groups"),
                (lambda: chorale.collective("allgatherv", ring, counts=[1, 2]), "2 counts"),
                (lambda: chorale.collective("allgatherv", ring), "--counts"),
                (lambda: chorale.frontier(ring, "allgather", max_chunks=0), "max_chunks: 0 is out of range; use 1 to 4096"),
                (lambda: chorale.frontier(ring, "allgather", min_chunks=3, max_chunks=2), "min_chunks: is larger than max_chunks"),
                (lambda: chorale.frontier(ring, "allgather", time_limit=0), "time_limit"),
                (lambda: chorale.frontier(ring, "allgather", time_limit=float("nan")), "time_limit"),
                (lambda: chorale.frontier(ring, "allgather", conflicts=-2), "conflicts"),
                (lambda: chorale.frontier(ring, "allgather", jobs=0), "jobs"),
                (lambda: chorale.synthesize(ring, "allgather", steps=0), "steps"),
                (lambda: chorale.Topology("x", 2, [chorale.Link(0, 5)]), "links[0].dst: 5 is out of range"),
                (lambda: chorale.Topology("x", 2, [chorale.Link(0, 1, alpha_us=float("nan"))]), "Topology"),
                (lambda: chorale.Topology("x", 2, [], [chorale.SharedLimit("l", [7], 1)]), "limits[0]"),
                (lambda: chorale.Topology.from_json("{"), "machine"),
                (lambda: chorale.frontier(chorale.Topology("x", 2, [chorale.Link(0, 1)]), "allgather"), "no path"),
                (lambda: chorale.Result.from_json(result.to_json().replace("[0,0,1,0],", "", 1)), "result: points[0]: "),
                (lambda: chorale.read_result(WORK), str(WORK)),
                (lambda: chorale.check(WORK / "nowhere.json"), "nowhere.json"),
                (lambda: chorale.bounds(ring, "allgather", chunks=0), "chunks"),
                (lambda: chorale.classic("rong", ring), "rong"),
                (lambda: result.compile("foo"), "use one of"),
                (lambda: result.compile("mpi", point=9), "point: 9 is out of range"),
                (lambda: result.run(four, point=-1), "point"),
                (lambda: result.run(four[:3]), "are of 3 ranks"),
                (lambda: result.run(four[:3] + [np.zeros(2, "f4")]), "rank 3: has blocks of 2 elements, others of 3"),
                (lambda: result.run(four[:3] + [np.zeros(3, "f8")]), "one type"),
                (lambda: result.run([np.zeros(3, "complex64")] * 4), "complex64"),
                (lambda: result.run(four, op="mean"), "mean"),
                (lambda: result.measure([-1]), "bytes"),
                (lambda: result.by_size([-1]), "bytes"),
                (lambda: chorale.hierarchy("a101:4"), "a101"),
                (lambda: chorale.place("a100:4"), "axes"),
                (lambda: chorale.place("a100:4", axes={"x": 64}, reduce="y", bytes=1), "y"),
                (lambda: chorale.place("a100:4", axes={"x": 63}, reduce="x", bytes=1), "63"),
                (lambda: chorale.place("a100:4", axes={"x": 64}, reduce="x", bytes=1, inside=[("x", "rack")]), "level: 'rack'"),
                (lambda: chorale.place("a100:4", axes={"x": 64}, reduce="x", bytes=1, algorithm="best"), "algorithm"),
                (lambda: chorale.place("a100:4", {"job": 1}), "job"),
                (lambda: chorale.place("a100:4", SOURCE / "examples/gpt-22b-sizes.json", axes={"tensr": 8}), "'tensr'"),
                (lambda: chorale.place("a100:4", SOURCE / "examples/gpt-22b-sizes.json", bytes=8), "excludes"),
                (lambda: chorale.import_topology(WORK / "nowhere.xml"), "nowhere.xml"),
                (lambda: chorale.import_topology(SOURCE / "README.md"), "README.md"),
                (lambda: chorale.verify_program(SOURCE / "README.md"), "README.md"),
        ]:
            with self.subTest(words):
                with self.assertRaises(chorale.InputError) as raised:
                    call()
                self.assertIn(words, str(raised.exception))
                self.assertEqual(len(str(raised.exception).splitlines()), 1)
        self.assertTrue(issubclass(chorale.InputError, ValueError))

    def test_types_are_pythons_matter(self):
        with self.assertRaises(TypeError):
            chorale.Link("a", 1)
        with self.assertRaises(TypeError):
            chorale.frontier("ring:4", "allgather", chunks=2)
        with self.assertRaises(AttributeError):
            chorale.machine("ring:4").ranks = 5
        number, truth = "is not an integer", "is not True or False"
        for words, call in [(f"{name}: {value!r} {what}", functools.partial(chorale.frontier, "ring:4", "allgather", **{name: value})) for name, value, what in [
                ("min_chunks", "a", number), ("max_chunks", 1.5, number), ("k", "1", number), ("max_steps", [2], number), ("conflicts", 1.5, number), ("jobs", "2", number),
                ("seed", "x", number), ("time_limit", "5", "is not a number"), ("use_bounds", "no", truth), ("use_symmetry", 0, truth)]] + [
                ("chunks: 'a' is not an integer", lambda: chorale.synthesize("ring:4", "allgather", chunks="a")),
                ("rounds: 2.5 is not an integer", lambda: chorale.synthesize("ring:4", "allgather", rounds=2.5)),
                ("channels: '1' is not an integer", lambda: chorale.compile(chorale.frontier("ring:4", "allgather"), "mpi", channels="1")),
                ("without_ranks: ", lambda: chorale.machine("ring:4", without_ranks=3)),
                ("axes: ", lambda: chorale.place("a100:1", axes="d", reduce="d", bytes=1)),
                ("chunks: ", lambda: chorale.bounds("ring:4", "allgather", chunks="1")),
                ("conflicts: ", lambda: chorale.check(chorale.frontier("ring:4", "allgather"), conflicts="1"))]:
            with self.subTest(words), self.assertRaises(TypeError) as raised:
                call()
            self.assertIn(words, str(raised.exception))
        for size in (float("inf"), float("nan"), -1, 2**70):
            with self.subTest(size), self.assertRaisesRegex(chorale.InputError, "bytes: "):
                chorale.frontier("ring:4", "allgather").best(size)
        for name in ("min_chunks", "max_chunks", "k", "seed"):
            for number in (2**31 - 1, 2**40, 2**70, -1):
                if (name, number) in (("k", 2**31 - 1), ("seed", 2**31 - 1)):
                    continue
                with self.subTest(name, number=number), self.assertRaisesRegex(chorale.InputError, f"{name}: {number} is out of range"):
                    chorale.frontier("ring:4", "allgather", **{name: number})

    def test_a_check_finds_faults_that_reading_does_not_believe(self):
        text = chorale.frontier("ring:4", "allgather").to_json()
        rows = json.loads(text)
        rows["points"][0]["schedule"][0]["sends"].pop()
        (WORK / "bad.json").write_text(json.dumps(rows))
        self.assertFalse(chorale.check(WORK / "bad.json").ok)
        with self.assertRaises(chorale.InputError):
            chorale.read_result(WORK / "bad.json")

    def test_what_is_not_installed_is_named(self):
        result = chorale.frontier("ring:4", "allgather")
        for name, call in (("pandas", result.to_dataframe), ("matplotlib", result.plot), ("networkx", result.topology.to_networkx),
                           ("numpy", lambda: result.run([None] * 4))):
            with mock.patch.dict(sys.modules, {name: None, **({"matplotlib.pyplot": None} if name == "matplotlib" else {})}):
                with self.assertRaisesRegex(ImportError, f"needs {name}: pip install {name}"):
                    call()


LONG = dict(machine="torus:4x4", collective="allreduce", max_chunks=8)  # for minutes, if nobody ends it


class LongWork(unittest.TestCase):
    # If the search held the interpreter, the other thread would not count, and nobody would end the search.
    def test_other_threads_run_and_interrupts_keep_what_was_found(self):
        counted = []

        def count():
            for number in range(200):
                threading.Event().wait(0.001)
                counted.append(number)
            os.kill(os.getpid(), signal.SIGINT)

        other = threading.Thread(target=count)
        with self.assertRaises(chorale.Interrupted) as raised:
            other.start()
            chorale.frontier(**LONG)
        other.join()
        self.assertEqual(len(counted), 200)
        self.assertIsInstance(raised.exception, KeyboardInterrupt)
        found = raised.exception.result
        self.assertEqual(found.stopped, "interrupted")
        self.assertFalse(found.complete)
        chorale.Result.from_json(found.to_json())  # the referee has every schedule

    def test_what_a_listener_raises_ends_the_search(self):
        told = []

        def enough(progress):
            self.assertIs(threading.current_thread(), threading.main_thread())
            told.append((progress.doing, progress.points, progress.seconds))
            if len(told) == 2:
                raise ZeroDivisionError("enough")

        with self.assertRaisesRegex(ZeroDivisionError, "enough"):
            chorale.frontier(**LONG, progress=enough)
        self.assertEqual(len(told), 2)
        self.assertTrue(all(doing for doing, _, _ in told))

    def test_a_long_question_is_told_of_again(self):
        told = []

        def until_it_is_said_twice(progress):
            if told and told[-1][0] == progress.doing:
                self.assertGreater(progress.seconds, told[-1][1])
                raise ZeroDivisionError("twice")
            told.append((progress.doing, progress.seconds))

        with self.assertRaisesRegex(ZeroDivisionError, "twice"):
            chorale.synthesize("torus:4x4", "allreduce", chunks=5, steps=5, rounds=5, progress=until_it_is_said_twice)

    def test_limits_are_values(self):
        result = chorale.frontier(**LONG, time_limit=0.3)
        self.assertEqual(result.stopped, "time limit")
        self.assertEqual(chorale.frontier("dgx1", "allgather", max_chunks=2, conflicts=0, use_bounds=False).stopped, "conflict limit")

    def test_several_at_once_say_the_same(self):
        alone = chorale.frontier("dgx1", "broadcast", max_chunks=3).to_json()
        texts = []
        threads = [threading.Thread(target=lambda: texts.append(chorale.frontier("dgx1", "broadcast", max_chunks=3).to_json())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([without_times(text) for text in texts], [without_times(alone)] * 4)

    def test_the_line_on_standard_error_is_wiped_away(self):
        with mock.patch("sys.stderr") as error:
            chorale.frontier("dgx1", "allgather", max_chunks=6, progress=True)
        written = "".join(call.args[0] for call in error.write.call_args_list)
        self.assertTrue(written == "" or written.endswith(" \r"), written)


class WithOthers(unittest.TestCase):
    def installed(self, name):
        try:
            return __import__(name)
        except ImportError:
            self.skipTest(f"left out: {name} is not installed")

    def test_graphs(self):
        networkx = self.installed("networkx")
        dice = random.Random(SEED + 2)
        for _ in range(20):
            machine = some_machine(dice)
            self.assertEqual(chorale.Topology.from_networkx(machine.to_networkx()), machine)
        ring = chorale.Topology.from_networkx(networkx.cycle_graph(4))
        asked = chorale.frontier(ring, "allgather", max_chunks=2)
        self.assertEqual([p.rate for p in asked.points if p.on_frontier], [p.rate for p in chorale.frontier("ring:4", "allgather", max_chunks=2).points if p.on_frontier])
        star = networkx.star_graph(4)  # node 0 is in the middle
        star.nodes[0]["switch"] = True
        machine = chorale.Topology.from_networkx(star, "star")
        self.assertEqual((machine.ranks, machine.switches, machine.links[0].src, machine.links[0].dst), (4, 1, 4, 0))
        self.assertTrue(chorale.frontier(machine, "broadcast", max_chunks=1).complete)
        twice = chorale.Topology("two", 2, [chorale.Link(0, 1), chorale.Link(1, 0), chorale.Link(0, 1, 2)], [chorale.SharedLimit("l", [0, 2], 2)])
        self.assertEqual(chorale.Topology.from_networkx(twice.to_networkx()).limits[0].bandwidth, 2)
        self.assertEqual(sorted(l.bandwidth for l in chorale.Topology.from_networkx(twice.to_networkx()).links), [1, 1, 2])
        able = chorale.Topology("able", 2, [chorale.Link(0, 3), chorale.Link(1, 2), chorale.Link(2, 0), chorale.Link(3, 1)],
                                [chorale.SharedLimit("l", [0, 3], 2, multicast=True)], 2, multicast=[1], reduce=[0, 1])
        again = chorale.Topology.from_networkx(able.to_networkx())
        self.assertEqual((again, again.multicast, again.reduce, again.limits[0].multicast, again.limits[0].reduce),
                         (able, [1], [0, 1], True, False))
        graph = networkx.Graph([(0, 1, {"bandwidth": 1.5})])
        with self.assertRaisesRegex(chorale.InputError, "integer"):
            chorale.Topology.from_networkx(graph)

    def test_tables(self):
        self.installed("pandas")
        table = chorale.frontier("dgx1", "allgather", max_chunks=6).to_dataframe()
        self.assertEqual(list(table[table.on_frontier].rounds_per_chunk), [1.5, 7 / 6])
        self.assertTrue(table.proven.all())
        ranking = chorale.place("a100:4", axes={"data": 4, "tensor": 16}, reduce="tensor", bytes=4 << 30)
        table = ranking.to_dataframe()
        self.assertEqual((list(table.us), table.slowdown[0]), ([row["us"] for row in ranking.best], 1))
        self.assertTrue((table.us <= table.allreduce_us * (1 + 1e-9)).all() and (table.slowdown >= 1).all())
        answer = chorale.optimize("ring:4", "allreduce", sizes=[1 << 10, 1 << 20])
        self.assertEqual(list(answer.to_dataframe().message_bytes), [1 << 10, 1 << 20])

    def test_drawings(self):
        self.installed("matplotlib").use("Agg")
        result = chorale.frontier("dgx1", "allgather", max_chunks=6)
        ax = result.plot()
        self.assertEqual(list(ax.lines[1].get_xdata()), [2, 3])
        self.assertEqual(len({line.get_color() for line in ax.lines}), 2)  # ours, and the bound
        time, rate = result.plot(bytes=[1024, 1 << 20])
        self.assertEqual(list(time.lines[0].get_xdata()), [1024, 1 << 20])
        self.assertEqual([round(gbs, 9) for gbs in rate.lines[0].get_ydata()], [round(result.best(size).busbw_gbs, 9) for size in (1024, 1 << 20)])
        answer = chorale.optimize("ring:4", "allreduce", sizes=[0, 1 << 10, 1 << 20])  # 0 bytes have no place on the axis
        time, rate = answer.plot()
        self.assertEqual([line.get_label() for line in time.lines], ["Chorale", "multi_ring_allreduce (baseline)", "two_tree_allreduce (baseline)", "bound"])
        for drawn, row in zip(rate.lines[0].get_ydata(), answer.rows[1:]):
            self.assertAlmostEqual(drawn, row["busbw_gbs"])
        self.assertIs(answer.plot([time, rate])[0], time)
        with self.assertRaises(chorale.InputError):
            answer.plot([time])
        ranking = chorale.place("a100:4", axes={"data": 4, "tensor": 16}, reduce="tensor", bytes=4 << 30)
        self.assertEqual(len(ranking.plot(most=2).patches), 4)


class Words(unittest.TestCase):
    def test_versions_are_one(self):
        version = says("--version").split()[-1]
        self.assertEqual(chorale.__version__, version)
        self.assertIn(f'version = "{version}"', (SOURCE / "pyproject.toml").read_text())
        self.assertIn(f"\nversion: {version}\n", (SOURCE / "CITATION.cff").read_text())

    def test_what_is_shown_is_short(self):
        result = chorale.frontier("ring:4", "allreduce", max_chunks=2)
        imported = chorale.import_topology(SOURCE / "examples/node.xml")
        known = chorale.bounds("ring:4", "allgather", steps=2)
        for thing in (result, result.points[0], result.best(1 << 20), result.measure([64], iterations=1)[0], result.check(), result.topology,
                      result.collective, imported, known, chorale.place("a100:4", axes={"data": 4, "tensor": 16}, reduce="tensor", bytes=4 << 30),
                      chorale.optimize("ring:4", "allgather", sizes=[1024]), chorale.synthesize("ring:4", "allgather"), result.compile("mpi")):
            self.assertLess(len(repr(thing)), 400, type(thing))
            self.assertNotRegex(repr(thing), "object at 0x", type(thing))
        for thing in (result, result.topology, imported, known, chorale.synthesize("ring:4", "allgather")):
            self.assertRegex(thing._repr_html_(), "<(iframe|table|svg)")
        self.assertIn("3/2 = 1.5 rounds per chunk at least", known._repr_html_())

    def test_the_program_of_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            there = pathlib.Path(folder) / "chorale"
            there.write_text("#!/bin/sh\necho in the package: \"$@\"\n")
            there.chmod(0o755)
            code = f"import pathlib, sys; from chorale import program; program.INSIDE = pathlib.Path({str(there)!r}); sys.argv = ['x', 'a b', 'c']; program.main()"
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertEqual(said.stdout, "in the package: a b c\n", said)
            code = f"import pathlib; from chorale import program; program.INSIDE = pathlib.Path({folder!r}) / 'none'; program.main()"
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            self.assertEqual(said.returncode, 1)
            self.assertIn("was built without the program", said.stderr)


class Stubs(unittest.TestCase):
    def test_the_page_runs_as_it_stands(self):
        blocks = re.findall(r"^```python\n(.*?)^```$", (SOURCE / "docs/python.md").read_text(), re.M | re.S)
        self.assertGreater(len(blocks), 3)
        printed = []
        names = {"print": lambda *values: printed.append(" ".join(map(str, values)))}
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            os.symlink(SOURCE / "examples", "examples")
            try:
                for block in blocks:
                    exec(compile(block, "docs/python.md", "exec"), names)
            finally:
                os.chdir(here)
        self.assertEqual(printed, ["2 3/2 True", "3 7/6 True", "1", "2 multi_ring_allreduce", "0 6 []", "1", "True", "[]", "topology: unknown name 'rong:4'; did you mean 'ring'?"])

    def test_they_name_what_is_there(self):
        folder = pathlib.Path(chorale.__file__).parent
        self.assertTrue((folder / "py.typed").exists())
        named = ast.parse((folder / "_chorale.pyi").read_text()).body
        public = lambda thing: {name for name in vars(thing) if not name.startswith("_") or name == "_repr_html_"}  # noqa: E731
        declared = {node.name: node for node in named if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and not node.name.startswith("_")}
        self.assertEqual(set(declared), public(chorale._chorale))
        for name, node in declared.items():
            if isinstance(node, ast.ClassDef):
                members = {each.target.id if isinstance(each, ast.AnnAssign) else each.name for each in node.body} - {"__init__"}
                self.assertEqual(members, public(getattr(chorale, name)), name)

    def test_fields_are_said_once(self):
        open_result = chorale.frontier("dgx1", "allgather", max_chunks=1, conflicts=0, use_bounds=False)
        told = json.loads(open_result.to_json())
        self.assertEqual({**told["space"], **told["limits"]}, {
            key: getattr(value, key) for value in (open_result.space, open_result.limits) for key in chorale._chorale._fields[type(value).__name__]})
        self.assertEqual([opening["steps"] for opening in told["openings"]], [opening.steps for opening in open_result.openings])

    def test_options_are_said_once(self):
        """Signatures and help are by the rows of the options, as is the stub (docs/described.py)."""
        for call in (chorale.frontier, chorale.synthesize, chorale.place, chorale.measure, chorale.compile, chorale.import_topology,
                     chorale.discover, chorale.machine):
            known = chorale._chorale.options(call.__name__)
            self.assertGreater(len(known), 3)
            for option, default, words in known:
                with self.subTest(option):
                    self.assertEqual(inspect.signature(call).parameters[option].default, default)
                    self.assertIn(f"{option}: {words}", call.__doc__)

    def test_all_that_is_offered_says_what_it_is(self):
        for name in chorale.__all__:
            self.assertTrue(getattr(chorale, name).__doc__, name)


faulthandler.dump_traceback_later(400, exit=True)  # what hangs says where
print(f"seed {SEED}; {chorale.__file__}; Python {sys.version.split()[0]}, numpy {np.__version__}")
unittest.main(argv=sys.argv[:1])
