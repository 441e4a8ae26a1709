"""A module `gurobipy` over HiGHS (PyPI highspy), of as much as programs need that state a linear or mixed integer
program by variables, sums, comparisons, the largest or the smallest of 0-1 variables, and rows that a 0-1 variable
turns on or off.

install() puts it into sys.modules; a program that imports gurobipy then gets it. Where two parameters mean the same
in both solvers they are passed on (MIPGap, TimeLimit, SolutionLimit); all others are kept and ignored. A program that
sets a TimeLimit of its own gets no more than that of install().
"""

import itertools
import math
import sys
import time
import types

import highspy

OPTIMAL, INFEASIBLE, TIME_LIMIT, SOLUTION_LIMIT = 2, 3, 9, 10  # as Gurobi numbers them
FREED = 2e7  # what a row that is switched off may be off by, at least
PARAMETERS = {"mip_rel_gap": "MIPGap", "time_limit": "TimeLimit", "mip_max_improving_sols": "SolutionLimit"}


class LinExpr:
    """A sum of numbers times variables, and a number."""

    def __init__(self, constant=0.0):
        self.terms, self.constant = {}, float(constant)

    def add(self, other, factor=1.0):
        if isinstance(other, Var):
            self.terms[other.index] = self.terms.get(other.index, 0.0) + factor
        elif isinstance(other, LinExpr):
            for index, each in other.terms.items():
                self.terms[index] = self.terms.get(index, 0.0) + factor * each
            self.constant += factor * other.constant
        else:
            self.constant += factor * float(other)
        return self

    def __add__(self, other):
        return LinExpr().add(self).add(other)

    def __sub__(self, other):
        return LinExpr().add(self).add(other, -1.0)

    def __neg__(self):
        return LinExpr().add(self, -1.0)

    def __rsub__(self, other):
        return LinExpr().add(other).add(self, -1.0)

    def __mul__(self, factor):
        return LinExpr().add(self, float(factor))

    __radd__, __rmul__ = __add__, __mul__

    # Rows `low <= sum <= high`.
    def __le__(self, other):
        return self - other, -math.inf, 0.0

    def __ge__(self, other):
        return self - other, 0.0, math.inf

    def __eq__(self, other):
        return Extreme.row(self, other) if isinstance(other, Extreme) else (self - other, 0.0, 0.0)

    __hash__ = None


class Var(LinExpr):
    def __init__(self, index, name):
        super().__init__()
        self.index, self.varName = index, name  # x is there once there is a solution
        self.terms[index] = 1.0

    @property
    def Xn(self):
        return self.X


class Extreme:
    """The largest (sign 1) or smallest (-1) of `parts`: of 0-1 variables, or of one variable and a number."""

    def __init__(self, sign, parts):
        self.sign, self.parts = sign, list(parts)

    @staticmethod
    def row(result, extreme):
        return result, extreme


class Model:
    most_seconds = math.inf

    def __init__(self, name=""):
        self.name, self.variables, self.bounds, self.rows = name, [], [], []
        self.Params, self.Status, self.SolCount = types.SimpleNamespace(), None, 0

    def setParam(self, name, value):
        setattr(self.Params, name, value)

    def update(self):
        pass

    def addVar(self, lb=0.0, ub=math.inf, obj=0.0, vtype="C", name=""):
        if obj:
            raise NotImplementedError("addVar with obj: give it to setObjective")
        self.bounds.append((lb, 1.0 if vtype == "B" else ub, vtype != "C"))
        self.variables.append(Var(len(self.variables), name))
        return self.variables[-1]

    def addVars(self, *counts, name="", **of_each):
        return {at: self.addVar(name=f"{name}{list(at)}", **of_each) for at in itertools.product(*map(range, counts))}

    def addGenConstrIndicator(self, switch, on, row):
        """The row holds where the variable is `on`."""
        sums, low, high = row
        free = (1 - switch if on else switch) * FREED
        if low > -math.inf:
            self.rows.append((sums + free, low, math.inf))
        if high < math.inf:
            self.rows.append((sums - free, -math.inf, high))

    def write(self, _):
        pass

    def computeIIS(self):
        pass

    def addConstr(self, row, name=""):
        if isinstance(row, bool):
            raise ValueError(f"{name}: no variable is compared")
        if not isinstance(row[1], Extreme):
            self.rows.append(row)
            return
        result, extreme = row
        sign, parts = extreme.sign, extreme.parts
        for part in parts:  # the largest is at least each
            self.rows.append((result - part, 0.0, math.inf) if sign > 0 else (result - part, -math.inf, 0.0))
        unknown = [part for part in parts if isinstance(part, LinExpr)]
        if all(self.bounds[part.index][2] for part in unknown):  # 0-1: at most their sum; at least the sum less n - 1
            rest = result
            for part in parts:
                rest = rest - part
            self.rows.append((rest, -math.inf, 0.0) if sign > 0 else (rest + (len(parts) - 1), 0.0, math.inf))
        else:  # max(x, 0) that is as small as something 0-1 lets it be
            self.at_an_end(result, parts, unknown, sign)

    def at_an_end(self, result, parts, unknown, sign):
        if len(parts) != 2 or len(unknown) != 1 or sign < 0:
            raise NotImplementedError("gp.max_ and gp.min_ of anything but 0-1 variables, or a variable and a number")
        (variable,), (number,) = unknown, [part for part in parts if not isinstance(part, LinExpr)]
        low, high, _ = self.bounds[variable.index]
        above = self.addVar(vtype="B")  # 1 where the variable is the larger
        self.rows.append((result - variable + (above - 1) * (number - low), -math.inf, 0.0))
        self.rows.append((result - number - above * (high - number), -math.inf, 0.0))

    addLConstr = addConstr

    def setObjective(self, objective, sense=1):
        self.objective = objective * sense

    def getVars(self):
        return self.variables

    def optimize(self):
        solver, columns = highspy.Highs(), len(self.variables)
        solver.setOptionValue("output_flag", False)
        given = self.Params.__dict__
        for option, name in PARAMETERS.items():
            if name in given:
                solver.setOptionValue(option, type(solver.getOptionValue(option)[1])(given[name]))
        solver.setOptionValue("time_limit", min(solver.getOptionValue("time_limit")[1], self.most_seconds))
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = columns, len(self.rows)
        program.col_cost_ = [self.objective.terms.get(i, 0.0) for i in range(columns)]
        program.col_lower_ = [bound[0] for bound in self.bounds]
        program.col_upper_ = [bound[1] for bound in self.bounds]
        whole, any_number = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        program.integrality_ = [whole if bound[2] else any_number for bound in self.bounds]
        program.row_lower_ = [low - row.constant for row, low, _ in self.rows]
        program.row_upper_ = [high - row.constant for row, _, high in self.rows]
        starts, index, value = [0], [], []
        for row, _, _ in self.rows:
            index.extend(row.terms.keys())
            value.extend(row.terms.values())
            starts.append(len(index))
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.num_col_, program.a_matrix_.num_row_ = columns, len(self.rows)
        program.a_matrix_.start_, program.a_matrix_.index_, program.a_matrix_.value_ = starts, index, value
        solver.passModel(program)
        begin = time.time()
        solver.run()
        self.Runtime = time.time() - begin
        self.take(solver)

    def take(self, solver):
        status = solver.getModelStatus()
        known = highspy.HighsModelStatus
        self.SolCount = int(solver.getInfo().primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible)
        numbers = {known.kOptimal: OPTIMAL, known.kInfeasible: INFEASIBLE, known.kSolutionLimit: SOLUTION_LIMIT}
        self.Status = self.status = numbers.get(status, TIME_LIMIT)
        if self.SolCount:
            for variable, each in zip(self.variables, solver.getSolution().col_value):
                variable.x = variable.X = each


def unsupported(*_):
    raise NotImplementedError("abs_, and_")


def install(most_seconds=math.inf):
    Model.most_seconds = most_seconds
    module = types.ModuleType("gurobipy")
    module.abs_ = module.and_ = unsupported
    module.quicksum = lambda terms: sum(terms, LinExpr())
    module.Model, module.LinExpr = Model, LinExpr
    module.max_ = lambda parts: Extreme(1, parts)
    module.min_ = lambda parts: Extreme(-1, parts)
    module.GRB = types.SimpleNamespace(CONTINUOUS="C", BINARY="B", INTEGER="I", MINIMIZE=1, MAXIMIZE=-1, INFINITY=math.inf, OPTIMAL=OPTIMAL,
                                       INFEASIBLE=INFEASIBLE, TIME_LIMIT=TIME_LIMIT, SOLUTION_LIMIT=SOLUTION_LIMIT)
    sys.modules["gurobipy"] = module
