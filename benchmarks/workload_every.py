"""Every schedule of every example, run: see workloads.py. A dozen schedules of an example are compiled as one
program, since the headers take most of the time, and one start of it runs them all in all sizes."""
import hashlib
import json
import pathlib
import re
import subprocess
import time

MAIN = """
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>
#ifdef CHORALE_MPI
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
// Begun and ended once for all of them.
static int real_init() {{ return MPI_Init(nullptr, nullptr); }}
static int real_finalize() {{ return MPI_Finalize(); }}
#undef MPI_Init
#undef MPI_Finalize
#define MPI_Init(a, b) (0)
#define MPI_Finalize() (0)
#endif
{includes}
#undef main
int main(int argc, char** argv) {{
  int (*const mains[])(int, char**) = {{{mains}}};
  int rank = 0;
#ifdef CHORALE_MPI
  real_init();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
  for (unsigned k = 0; k < sizeof mains / sizeof *mains; ++k)
    for (int a = 1; a < argc; ++a) {{
      std::vector<std::string> words = {{argv[0], "--runs", "0"}};
      std::istringstream sizes(argv[a]);
      for (std::string size; std::getline(sizes, size, ',');) words.push_back(size);
      std::vector<char*> pointers;
      for (std::string& word : words) pointers.push_back(word.data());
      pointers.push_back(nullptr);
      if (rank == 0) std::printf("## %u %s\\n", k, argv[a]), std::fflush(stdout);
      const int code = mains[k](static_cast<int>(words.size()), pointers.data());
      if (code != 0) std::printf("## code %d\\n", code);
      std::fflush(stdout);
    }}
#ifdef CHORALE_MPI
  real_finalize();
#endif
}}
"""
INCLUDE = """#undef main
#define main main_{k}
#define of_{name} of_{name}_{k}
#define Workload Workload_{k}
#include "{k}/{name}_main.cpp"
#undef of_{name}
#undef Workload
"""
FLAGS = "-std=c++17 -O1 -ffp-contract=off -fno-math-errno -fno-trapping-math -I."


class Every:
    def __init__(self, tools, arguments):
        self.tools, self.arguments = tools, arguments
        self.state_file = pathlib.Path(arguments.state)
        self.engine = hashlib.sha256(pathlib.Path(tools.chorale).read_bytes()).hexdigest()[:12]
        state = json.loads(self.state_file.read_text()) if self.state_file.exists() else {}
        self.state = state if state.get("engine") == self.engine else {"engine": self.engine, "done": {}, "expected": {}}

    def save(self):
        whole = self.state_file.with_suffix(".new")
        whole.write_text(json.dumps(self.state))
        whole.replace(self.state_file)

    def batch(self, example, ranks, scripts, whole):
        """The folder with programs of these schedules, and the names of those that cannot be made."""
        folder = self.tools.work / f"{example.stem}_every"
        subprocess.run(["rm", "-rf", folder])
        folder.mkdir()
        made, refused = [], []
        for k, script in enumerate(scripts):
            try:
                self.tools.run(self.tools.chorale, "compile", example, "--machine", f"ring:{ranks}", "--ranks", ranks, "-o", folder / str(k),
                               *(["--apply", script] if script else []), *whole)
                made.append(k)
            except RuntimeError as error:
                refused.append(f"{script}: {error}")
        for k in made:
            own = folder / str(k) / "runtime"
            subprocess.run(["rm", "-rf", own] if (folder / "runtime").exists() else ["mv", own, folder / "runtime"])
        includes = "".join(INCLUDE.format(k=k, name=example.stem) for k in made)
        (folder / "every.cpp").write_text(MAIN.format(includes=includes, mains=", ".join(f"main_{k}" for k in made)))
        self.tools.run("g++", *FLAGS.split(), "every.cpp", "-o", "threads", "-pthread", cwd=folder)
        self.tools.run("mpicxx", *FLAGS.split(), "-DCHORALE_MPI", "every.cpp", "-o", "mpi", "-pthread", cwd=folder)
        return folder, made, refused

    def outputs(self, text, made):
        """(schedule, sizes) -> sums of its results, and complaints."""
        found, wrong = {}, []
        for part in text.split("## ")[1:]:
            first, _, rest = part.partition("\n")
            if first.startswith("code"):
                wrong.append(f"{key}: exit {first}")
                continue
            k, sizes = first.split(" ", 1)
            key = (made[int(k)], sizes)
            found[key] = dict(re.findall(r"^(\w+): (.*)$", rest, re.M))
            wrong += [f"{key}: {line}" for line in rest.splitlines() if "replicas differ" in line]
        return found, wrong

    def run_batch(self, example, groups, ranks, scripts, first, whole, sizes):
        folder, made, refused = self.batch(example, ranks, scripts, whole)
        problems, runs = list(refused), {}
        expected = self.state["expected"].setdefault(example.stem, {})
        words = [",".join(each) for each in sizes]
        for carrier, start in (("threads", ["./threads"]), ("mpirun", ["mpirun", "--oversubscribe", "-n", ranks * groups, "./mpi"])):
            try:
                text = self.tools.run(*start, *words, cwd=folder)
            except RuntimeError as error:
                problems.append(f"{carrier}, schedules {first} on: {error}")
                continue
            found, wrong = self.outputs(text, made)
            problems += [f"{carrier}: {each}" for each in wrong]
            if len(found) != len(made) * len(words):
                problems.append(f"{carrier}: {len(found)} of {len(made) * len(words)} came out")
            for (k, each), sums in found.items():
                if first + k == 0:
                    expected.setdefault(each, sums)  # the program as it is
                for name, want in expected[each].items():
                    if sums.get(name, want) != want:
                        problems.append(f"{carrier} {each}: {name} is {sums[name]}, not {want}: {scripts[k]}")
            runs[carrier] = len(found)
        return {"schedules": len(made), "refused": len(refused), "runs": runs, "problems": problems}

    def work(self):
        started = time.monotonic()
        for example in self.tools.examples:
            text = example.read_text()
            groups = int((re.search(r"^groups (\d+)", text, re.M) or [0, 1])[1])
            ranks = self.arguments.ranks // groups
            whole = self.tools.whole(example, ranks)
            found = self.tools.tuned(example, "--machine", f"ring:{ranks}", "--ranks", ranks, *whole)
            scripts = [""] + [found["candidates"][k]["script"] for k in found["ranking"] if found["candidates"][k]["script"]]
            sizes = self.tools.shapes(example, ranks)
            jobs = [(first, scripts[first:first + self.arguments.batch], sizes) for first in range(0, len(scripts), self.arguments.batch)]
            if self.arguments.large and sizes[0][0].startswith("N="):
                jobs.append((0, scripts[:self.arguments.large + 1], [["N=16777216"], ["N=16777213"]]))
            for first, some, shapes in jobs:
                key = f"{example.stem} {ranks}x{groups} {first}+{len(some)} {shapes[0][0]}"
                if key in self.state["done"]:
                    continue
                if time.monotonic() - started > self.arguments.minutes * 60:
                    return
                self.state["done"][key] = self.run_batch(example, groups, ranks, some, first, whole, shapes)
                for problem in self.state["done"][key]["problems"]:
                    print(f"{example.stem}: {problem}", flush=True)
                self.save()

    def report(self):
        """What has been done, by example, over all calls. Returns the number of problems."""
        print(f"every schedule, compiled with {FLAGS.split()[1]}, {self.arguments.ranks} ranks: schedules, runs on threads and under mpirun, "
              "results held against the program as it is, bit by bit")
        totals, bad = {}, 0
        for key, entry in self.state["done"].items():
            name = key.split()[0] + (" at 2^24" if "N=16777216" in key else "")
            row = totals.setdefault(name, [0, 0, 0, 0])
            row[0] += entry["schedules"]
            row[1] += entry["runs"].get("threads", 0)
            row[2] += entry["runs"].get("mpirun", 0)
            row[3] += len(entry["problems"])
            bad += len(entry["problems"])
        for name, row in totals.items():
            print(f"  {name:24} {row[0]:4} schedules  {row[1]:5} runs on threads  {row[2]:5} under mpirun  {row[3]} failed or different")
        everything = [sum(row[k] for row in totals.values()) for k in range(4)]
        print(f"  {'all':24} {everything[0]:4} schedules  {everything[1]:5} runs on threads  {everything[2]:5} under mpirun  {everything[3]} failed or different",
              flush=True)
        return bad
