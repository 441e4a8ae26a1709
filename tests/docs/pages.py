"""What README.md, docs/*.md and the help texts say must be so. Every command that is printed runs as printed:
of the pages in a directory with nothing but examples/, in the order of the page, as its ```sh blocks have
them; of the help texts in one such directory, in the order of 'chorale --help'. But outside of README.md and docs/tour.md a
search of seconds gets one, which shows as well that it runs, and compilers do not optimize. A plain block after
one of a single command is what that prints, but for times. A ```cpp block is part of a file in examples/. Lines
of what is reported fit 80 columns. Every link and every `path/of/a.file` leads somewhere, and every kept
log is linked.
With --write, a block that a command no longer prints is replaced by what it prints, and help texts are left.
Usage: pages.py CHORALE SOURCE_DIRECTORY FLAGS [--write], FLAGS the folder of tests/scripts/emitted.cmake"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

chorale, source, flags = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
write = sys.argv[4:] == ["--write"]
tools = tempfile.TemporaryDirectory()
(pathlib.Path(tools.name) / "chorale").symlink_to(chorale)
environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"} | {
    "PATH": f"{tools.name}:{os.environ['PATH']}", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "CXX": str(flags / "quick_cxx"), "OMPI_CXX": str(flags / "quick_cxx")}

COMMAND = re.compile(r"^\s*(\$ )?((\w+=\S+ )*)(chorale|mpirun|make|mpicxx|echo|benchmarks/\S+|build/\S+|\./\S+|for) ")
# Commands that stand in a plain block, since no test can run them as they stand.
NOT_RUN = {
    "./demo.sh": "sets up and builds; it is run by people and by releases",
    "./test.sh": "runs this test",
    "LD_PRELOAD=": "the program is the reader's; tests/preload and tests/nccl have one",
    "-m mpi4py.futures": "wants a cluster; tests/python/build.py has two ranks",
    "benchmarks/gpu.sh": "wants a GPU",
    "benchmarks/peers.py": "wants a checkout of the peer",
    "benchmarks/fuzz.py": "wants clang, and hours",
    "$ for plan in tests/data": "tests/codegen/read_mscclpp_plan_test.cpp holds what it prints",
}
# Tables of nccl-tests' columns, and documents that were asked for.
WIDE = re.compile(r"chorale bench|--json(?! \w)|--dot|(--json|--html) -(\s|$)|^make |^mpirun .* \./")


def blocks(text):
    """(kind, lines) of each fenced block, and ("text", lines) of what is between them."""
    kind, lines = "text", []
    for line in text.splitlines():
        if not line.startswith("```"):
            lines.append(line)
            continue
        yield kind, lines
        kind, lines = line[3:] if kind == "text" else "text", []
    yield kind, lines


def names(page):
    """(as written, where it should be); but for files that the page adds, which docs.adding makes."""
    added = set(re.findall(r"^`([\w./]+)`:\n\n```cpp$", page.read_text(), re.M))
    text = re.sub(r"^```(?:cpp|diff)\n.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            yield target, page.parent / target
    for target in re.findall(r"`([a-z_]+/[\w/.-]*\w\.(?:h|cpp|py|sh|md|html|log|json))[`\s]", text):
        if not target.startswith("build/") and target not in added:
            yield target, source / target


def without_times(text):
    return re.sub(r"\d+\.\d+ s\b", "TIME", re.sub(r" +\d+\.\d\d(?=  |\n)", "  TIME", text)).strip()


ran = failed = named = compared = 0
skipped = []


def fail(where, what):
    global failed
    failed += 1
    print(f"{where}: {what}")


def in_short(line):
    """With one second in place of several."""
    if line.startswith(("chorale optimize ", "chorale job ")):
        line = re.sub(r"--search-time \d+", "--search-time 1", line)
        line = re.sub("^(chorale optimize (?:dgx1|examples/node.xml)|chorale job examples/calls.csv) (?!.*--search-time)", r"\1 --search-time 1 ", line)
    return re.sub(r"--time-limit \d+ ", "--time-limit 1 ", line) if line.endswith("|| test $? = 3") else line


def run(where, line, directory):
    """What the command prints on standard output."""
    global ran
    if where not in ("README.md", "tour.md"):  # these show answers
        line = in_short(line)
    missing = [tool for tool in re.findall(r"(?:^|\| |&& |do )(mpirun|make|neato|drat-trim)\b", line) if not shutil.which(tool)]
    missing += ["smpirun"] if "chorale simulate" in line and not shutil.which("smpirun") else []
    if missing:
        print(f"{where}: not run: {line}")
        skipped.append(missing[0])
        return None
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], cwd=directory, env=environment, capture_output=True, text=True,
                          timeout=550)
    ran += 1
    unproven = done.returncode == 3 and line.startswith("chorale optimize ")  # an answer, of which not all is proven
    if done.returncode != 0 and not unproven:
        fail(where, f"{line}\nexit code {done.returncode}: {done.stderr}{done.stdout[-500:]}")
    wide = [said for said in (done.stdout + done.stderr).splitlines() if len(said) > 80]
    if wide and not WIDE.search(line):
        fail(where, f"{line}\nis wider than 80 columns: {wide[0]}")
    return done.stdout


def page_runs(page, directory):
    """The page, with what its commands print now where --write asks for that."""
    global compared
    printed = None  # by the single command of the block before
    kept = []
    for kind, lines in blocks(page.read_text()):
        kept += lines if kind == "text" else ["```" + kind, *lines, "```"]
        if kind == "sh":
            outputs = [run(page.name, line, directory) for line in lines if COMMAND.match(line)]
            printed = outputs[0] if len(outputs) == 1 else None
            continue
        if kind == "text" and not any(lines):
            continue
        if kind == "cpp" and page.name != "adding.md" and not any("\n".join(lines) in example.read_text() for example in (source / "examples").glob("*.cpp")):
            fail(page.name, f"shows what no example says: {lines[0]}")
        if kind == "" and printed is not None:
            compared += 1
            if without_times("\n".join(lines)) == without_times(printed):
                pass
            elif write and "search: time limit" in printed and not any("search: time limit" in line for line in lines):
                fail(page.name, "is not replaced: this machine was too slow for the search")
            elif write:
                kept[-1 - len(lines):-1] = printed.strip("\n").splitlines()
                print(f"{page.name}: replaced {len(lines)} lines")
            else:
                fail(page.name, f"does not show what is printed:\n{printed}")
        printed = None
        for line in filter(COMMAND.match, lines) if kind == "" else []:
            if not any(line.startswith(known) or f" {known}" in line for known in NOT_RUN):
                fail(page.name, f"a command in a block that is not ```sh: {line}")
    return "\n".join(kept) + "\n"


def examples(command):
    """The lines of a help text under 'example:' or 'examples:'."""
    text = subprocess.run([chorale, *command, "--help"], env=environment, capture_output=True, text=True, check=True).stdout
    after = re.split(r"^examples?:\n", text, flags=re.M)[1:]
    return [line.strip() for line in after[0].replace("\\\n", "").splitlines() if line.startswith("  ")] if after else []


for page in [source / "README.md", source / "benchmarks/README.md", *sorted((source / "docs").glob("*.md"))]:
    for written, path in names(page):
        named += 1
        if not path.exists():
            fail(page.name, f"{written} does not exist")
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "examples").symlink_to(source / "examples")
        now = page_runs(page, directory)
    if write:
        page.write_text(now)

for log in sorted((source / "benchmarks/results").glob("*.log")):
    if f"](results/{log.name})" not in (source / "benchmarks/README.md").read_text():
        fail("benchmarks/README.md", f"does not say what results/{log.name} is")

overview = subprocess.run([chorale, "--help"], env=environment, capture_output=True, text=True, check=True).stdout
commands = re.findall(r"^  ([a-z]+)  ", overview, re.M)
with tempfile.TemporaryDirectory() as directory:
    (pathlib.Path(directory) / "examples").symlink_to(source / "examples")
    for command in [] if write else commands:
        shown = examples([command])
        if not shown:
            fail(f"chorale {command} --help", "has no example")
        for line in shown:
            run(f"chorale {command} --help", line, directory)

for tool in sorted(set(skipped)):
    print(f"SKIPPED: documented commands with {tool}, which is not here")
print(f"{ran} documented commands run, {compared} outputs compared, {len(skipped)} skipped, {named} names looked up, {failed} failed")
sys.exit(1 if failed or ran < 50 or compared < 2 or named < 20 else 0)
