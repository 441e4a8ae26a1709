#!/usr/bin/env python3
"""The documentation as a site: the pages of docs/, what the Python package states of itself, a page for each
command, a gallery of pages that Chorale makes, the schemas. Made by mkdocs (Debian: mkdocs) without a
network; --strict, so that a link into nothing ends it.

Usage: packaging/site.py CHORALE OUT      (a folder, made anew: OUT/site/index.html)
"""
import ast
import os
import pathlib
import re
import shutil
import subprocess
import sys

chorale, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
source = pathlib.Path(__file__).resolve().parents[1]
pages = out / "pages"
if out.exists() and any(out.iterdir()) and not (out / "mkdocs.yml").exists():
    sys.exit(f"site.py: {out} is there and is no site; choose another folder")
shutil.rmtree(out, ignore_errors=True)
pages.mkdir(parents=True)

NAVIGATION = [
    ("Chorale", ["index.md", "tour.md", "tutorial.md", "results.md", "believable.md", "questions.md", "gallery.md", "changelog.md"]),
    ("Use", ["topologies.md", "placement.md", "workloads-guide.md", "workloads.md", "pytorch.md", "lowering.md", "simulators.md", "libraries.md", "jobs.md", "alltoallv.md", "cuda.md", "commands.md", "exit-codes.md", "formats-guide.md", "formats.md"]),
    ("Call", ["python.md", "python-calls.md", "library.md"]),
    ("Know", ["glossary.md", "semantics.md", "bounds.md", "trust.md", "encodings.md", "peers.md", "papers.md", "paper-sccl.md", "paper-sat.md", "paper-p2.md", "paper-te-ccl.md", "paper-forestcoll.md", "coconet.md", "measured.md"]),
    ("Change", ["architecture.md", "adding.md", "contributing.md"]),
]
# Where pages lie here, of those that lie elsewhere in the tree.
MOVED = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "benchmarks/README.md": "measured.md"}
left = set()


def moved(page, text):
    """The text of a page of the tree, with its links as they are here: what is no page of the site stays a
    name."""
    def link(match):
        words, target, anchor = match[1], match[2], match[3] or ""
        if "://" in target:
            return match[0]
        path = pathlib.Path(os.path.relpath(os.path.join(source, pathlib.Path(page).parent, target), source)).as_posix()
        if path.startswith("docs/"):
            return f"[{words}]({path.removeprefix('docs/')}{anchor})"
        if path in MOVED:
            return f"[{words}]({MOVED[path]}{anchor})"
        left.add(path)
        return words

    return re.sub(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)]*)?\)", link, text)


def run(*arguments, codes=(0,)):
    done = subprocess.run([chorale, *map(str, arguments)], capture_output=True, text=True, cwd=out, timeout=120,
                          env=dict(os.environ, COLUMNS="100"))
    assert done.returncode in codes, f"{arguments}: exit code {done.returncode}\n{done.stderr}"
    return done.stdout


for page in sorted((source / "docs").glob("*.md")):
    (pages / page.name).write_text(moved(f"docs/{page.name}", page.read_text()))
for there, here in MOVED.items():
    (pages / here).write_text(moved(there, (source / there).read_text()))
for figure in (source / "docs").glob("*.svg"):
    shutil.copy(figure, pages / figure.name)
shutil.copytree(source / "docs/schemas", pages / "schemas")

# -- commands -----------------------------------------------------------------------------------------------
def commands(path=()):
    text = run(*path, "--help")
    below = re.findall(r"^  ([a-z]+)  ", text, re.M)
    yield " ".join(["chorale", *path]), text
    for command in below:
        yield from commands((*path, command))


(pages / "commands.md").write_text("# Commands\n\nWhat `--help` says, and `man`.\n\n" +
                                   "".join(f"## {name}\n\n```text\n{text}```\n\n" for name, text in commands()))


# -- Python, from its docstrings ---------------------------------------------------------------------------
def members(file):
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node


# Options are declared in the stub; those of searches have the first of them in common.
options = {}
for node in ast.parse((source / "python/chorale/_chorale.pyi").read_text()).body:
    if isinstance(node, ast.ClassDef) and node.name.endswith("Options"):
        options[node.name] = [ast.unparse(each) for each in node.body] + options.get(ast.unparse(node.bases[0]), [])


def signature(node):
    arguments = re.sub(r"\*\*options: Unpack\[(\w+)\]", lambda given: ", ".join(options["_" + given[1]]), ast.unparse(node.args))
    return f"{node.name}({arguments})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


said = ["# Calls of the Python package\n\nFrom their docstrings; [python.md](python.md) is the way in.\n"]
for file in ("calls.py", "errors.py", "graphs.py", "shown.py", "optim.py", "fsdp.py", "workload.py"):
    module = "chorale" if file in ("calls.py", "errors.py", "graphs.py", "shown.py") else f"chorale.{file.removesuffix('.py')}"
    for node in members(source / "python/chorale" / file):
        words = ast.get_docstring(node)
        if words is None:
            continue
        head = signature(node) if isinstance(node, ast.FunctionDef) else f"class {node.name}"
        said.append(f"## {module}.{node.name}\n\n```text\n{head}\n```\n\n{words}\n")
(pages / "python-calls.md").write_text("\n".join(said))

# -- the gallery --------------------------------------------------------------------------------------------
GALLERY = [
    ("dgx1", "All best Allgathers of a DGX-1", [["frontier", "dgx1", "allgather", "--max-chunks", "6", "--json", "r.json"], ["show", "r.json", "--html"]]),
    ("torus", "AllReduce on a torus", [["frontier", "torus:3x3", "allreduce", "--conflicts", "500", "--json", "r.json"], ["show", "r.json", "--html"]]),
    ("nodes", "Two nodes of DGX A100", [["topology", "show", "dgx-a100:2", "--html"]]),
    ("place", "Data and tensor parallelism on 64 GPUs",
     [["place", "a100:4", "--axes", "data=4,tensor=16", "--reduce", "tensor", "--bytes", "4GB", "--strategies", "3", "--html"]]),
    ("tune", "Adam, tuned for a ring", [["tune", source / "examples/adam.chorale", "--machine", "ring:4", "--html"]]),
]
(pages / "gallery").mkdir()
shown = ["# Gallery\n\nPages that Chorale makes: each is one file, which loads nothing. Arrow keys walk through an algorithm, `?` says the rest.\n"]
for name, title, steps in GALLERY:
    for step in steps:
        run(*step, *([pages / f"gallery/{name}.html"] if step[-1] == "--html" else []), codes=(0, 3))
    line = "; ".join(" ".join(["chorale", *(str(word).replace(f"{source}/", "") for word in step)]) for step in steps)
    shown.append(f"## {title}\n\n```text\n{line} {name}.html\n```\n\n<a href=\"../gallery/{name}.html\">open it alone</a>\n\n"
                 f"<iframe src=\"../gallery/{name}.html\" title=\"{title}\" style=\"width: 100%; height: 720px; border: 1px solid #8888\"></iframe>\n")
(pages / "gallery.md").write_text("\n".join(shown))
for file in out.glob("r.json"):
    file.unlink()

# -- the site -----------------------------------------------------------------------------------------------
named = {page for _, group in NAVIGATION for page in group}
there = {page.name for page in pages.glob("*.md")}
assert named == there, f"in the navigation and not there, or the other way round: {sorted(named ^ there)}"
navigation = "".join(f"  - {title}:\n" + "".join(f"    - {page}\n" for page in group) for title, group in NAVIGATION)
(out / "mkdocs.yml").write_text(f"""site_name: Chorale
site_description: Collective communication algorithms for your machine, with bounds and proofs
docs_dir: pages
site_dir: site
theme:
  name: mkdocs
  highlightjs: false
  analytics: {{gtag: null}}
markdown_extensions: [tables, fenced_code, toc]
nav:
{navigation}""")
done = subprocess.run(["mkdocs", "build", "--quiet", "--strict", "-f", str(out / "mkdocs.yml")], capture_output=True, text=True)
if done.returncode != 0:
    sys.exit(f"site.py: mkdocs: {done.stdout}{done.stderr}")
print(f"{len(there)} pages and {len(GALLERY)} of the gallery; {len(left)} names lead to files of the tree that are no pages")
