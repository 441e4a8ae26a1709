"""Chorale from Python: the best algorithms for collective communication on your machine, found and proven.

    import chorale
    result = chorale.frontier("dgx1", "allgather", max_chunks=6)
    result                                  # in a notebook: the page
    chorale.optimize("dgx1", "allreduce")   # in a notebook: time and bus bandwidth over message size
    outputs = result.run(inputs)            # on numpy arrays, the ranks as threads

docs/python.md has the rest. chorale.workload and chorale.optim (tensor programs as operators of PyTorch, and
optimizers made of them) need PyTorch and the program `chorale`, and nothing of the extension.
"""

try:
    from chorale import _chorale
except ImportError as error:  # a checkout without the extension still has chorale.workload and chorale.optim
    if getattr(error, "name", None) not in (None, "chorale._chorale", "chorale"):
        raise
    _why = str(error)

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(
            f"chorale.{name} needs the extension, which is not there ({_why}): pip install . in Chorale's "
            "folder, or build it with pybind11-dev and take build/release/python")
else:
    from chorale._chorale import (AnswerFile, Bounds, CheckReport, Chunk, Claim, Collective, Hierarchy,
                                  LibraryQuestion, Link, NodeLabel, Opening, Point, Progress, Ranking, Result,
                                  RunRow, SearchLimits, Send, SharedLimit, SimulatedRow, SizeRow,
                                  SolverReport, Space, Step, TimeClaim, Topology)
    from chorale import graphs, library, plots, shown
    from chorale._chorale import __version__
    from chorale.answers import Compared, Compiled, Document, Imported, Optimized, Synthesis, VerifiedProgram
    from chorale.calls import (alltoallv, bounds, check, classic, classics, collective, collectives,
                               compare, compile, design, discover, frontier, hierarchy, import_topology, job,
                               verify_program, machine, machines, measure, optimize, order, place,
                               read_result, reshard, run, simulate, synthesize, targets)
    from chorale.errors import Hang, InputError, Interrupted

    Topology.from_networkx = staticmethod(graphs.from_networkx)
    Topology.to_networkx = graphs.to_networkx
    __all__ = [
        "Bounds", "CheckReport", "Chunk", "Claim", "Collective", "Compared", "Compiled", "Document", "Hang", "Hierarchy",
        "Imported", "InputError", "Interrupted", "VerifiedProgram", "Link", "NodeLabel", "Opening",
        "Optimized", "Point", "Progress", "Ranking", "Result", "RunRow", "SearchLimits", "Send",
        "SharedLimit", "SimulatedRow", "SizeRow", "SolverReport", "Space", "Step", "Synthesis", "TimeClaim", "Topology",
        "alltoallv", "bounds", "check", "classic", "classics", "collective", "collectives", "compare",
        "compile", "design", "discover", "frontier", "hierarchy", "import_topology", "job", "verify_program",
        "library", "machine", "machines", "measure", "optimize", "order", "place", "plots", "read_result",
        "reshard", "run", "simulate", "synthesize", "targets"
    ]
