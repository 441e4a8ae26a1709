#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "ir/error.h"
#include "solvers/deadline.h"
#include "solvers/proof.h"
#include "solvers/sat_solver.h"
#include "solvers/smt_solver.h"

namespace chorale {
namespace {

// n+1 pigeons do not fit into n holes.
Formula pigeons(int holes) {
  Formula f;
  f.variables = (holes + 1) * holes;
  const auto in = [holes](int pigeon, int hole) { return pigeon * holes + hole + 1; };
  for (int p = 0; p <= holes; ++p) {
    std::vector<Lit> somewhere;
    for (int h = 0; h < holes; ++h) somewhere.push_back(in(p, h));
    f.add(somewhere);
  }
  for (int h = 0; h < holes; ++h)
    for (int p = 0; p <= holes; ++p)
      for (int q = 0; q < p; ++q) f.add({-in(p, h), -in(q, h)});
  return f;
}

TEST(Proof, PigeonsAreRefutedAndTheProofIsAccepted) {
  for (int holes : {3, 5, 7}) {
    const Refutation r = solve_with_proof(pigeons(holes), {});
    EXPECT_EQ(r.verdict, Verdict::Unsat);
    EXPECT_EQ(proof_fault(pigeons(holes), r.proof), "");
  }
}

// A search that is killed in the middle of a proof leaves no file. It takes pigeons hours to be refuted; the
// proof is open when a descriptor of the process is in the folder.
TEST(Proof, NothingIsLeftByAProcessThatIsKilled) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "chorale-killed-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const pid_t child = fork();
  if (child == 0) {
    setenv("TMPDIR", folder.c_str(), 1);
    solve_with_proof(pigeons(14), {});
    _exit(0);
  }
  const auto writes = [&] {
    std::error_code error;
    for (const fs::directory_entry& each : fs::directory_iterator(fmt::format("/proc/{}/fd", child), error))
      if (fs::read_symlink(each, error).string().starts_with(folder)) return true;
    return false;
  };
  for (int i = 0; i < 2000 && !writes(); ++i) usleep(10'000);
  EXPECT_TRUE(writes());
  usleep(10'000);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

// Known answer (FIPS 180-2, "abc").
TEST(Proof, Sha256) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Proof, BogusProofsAreRefused) {
  Formula f;
  f.variables = 3;
  f.add({1, 2});
  f.add({-1, 3});
  EXPECT_NE(proof_fault(f, "0\n"), "");       // satisfiable: the empty clause does not follow
  EXPECT_NE(proof_fault(f, "1 0\n0\n"), "");  // nor does 1
  EXPECT_NE(proof_fault(f, ""), "");          // nothing derived
  EXPECT_NE(proof_fault(f, "4 0\n"), "");     // no such variable
  EXPECT_NE(proof_fault(f, "1 x 0\n"), "");   // not DRAT
  EXPECT_NE(proof_fault(f, "1 2\n"), "");     // truncated
}

// The proof must derive each lemma: without its first half, what follows does not follow any more.
TEST(Proof, ShortenedProofsAreRefused) {
  const Formula f = pigeons(6);
  const std::string proof = solve_with_proof(f, {}).proof;
  EXPECT_NE(proof_fault(f, proof.substr(0, proof.size() / 2)), "");
  EXPECT_NE(proof_fault(f, proof.substr(proof.find('\n', proof.size() * 9 / 10) + 1)), "");
  // A formula with one clause less is satisfiable, and no proof of it can be right.
  Formula less = f;
  less.literals.erase(less.literals.begin(), less.literals.begin() + 7);
  EXPECT_NE(proof_fault(less, proof), "");
}

TEST(Proof, DeletedClausesAreGone) {
  Formula f;
  f.variables = 2;
  for (int bits = 0; bits < 4; ++bits) f.add({bits & 1 ? 1 : -1, bits & 2 ? 2 : -2});
  EXPECT_EQ(proof_fault(f, "1 0\n0\n"), "");
  EXPECT_NE(proof_fault(f, "d 1 2 0\n1 0\n0\n"), "");  // 1 needs (1 2) and (1 -2)
}

bool satisfiable(const Formula& f) {
  for (unsigned bits = 0; bits < 1u << f.variables; ++bits) {
    bool all = true, clause = false;
    for (Lit lit : f.literals) {
      if (lit == 0) {
        all = all && clause;
        clause = false;
      } else {
        clause = clause || (bits >> (std::abs(lit) - 1) & 1) == (lit > 0);
      }
    }
    if (all) return true;
  }
  return false;
}

std::unique_ptr<SatSolver> made(Solver solver) {
  return make_solver(solver, 0, nullptr, solver == Solver::Ipasir ? TEST_IPASIR : "");
}

// Every solver of the table answers these questions. A new one is asked them, too.
template <typename Ask>
void for_each_solver(Ask ask) {
  ASSERT_GE(std::size(kSolvers), 2U);
  for (const Named<Solver>& each : kSolvers) {
    SCOPED_TRACE(std::string(each.name));
    EXPECT_EQ(made(each.value)->name(), each.name);
    ask(each.value);
  }
}

Formula random_formula(std::mt19937& random) {
  Formula f;
  f.variables = 8;
  for (int k = 0; k < 38; ++k) {
    std::vector<Lit> clause;
    for (int j = 0; j < 3; ++j)
      clause.push_back((1 + static_cast<int>(random() % 8)) * (random() % 2 ? 1 : -1));
    f.add(clause);
  }
  return f;
}

// The model, too: each clause has a literal that it makes true.
bool satisfies(const Assignment& model, const Formula& f) {
  bool all = true, clause = false;
  for (Lit lit : f.literals) {
    if (lit == 0) {
      all = all && clause;
      clause = false;
    } else {
      clause = clause || model[std::abs(lit)] == (lit > 0);
    }
  }
  return all;
}

TEST(Solvers, AgreeWithTruthTables) {
  for_each_solver([](Solver asked) {
    constexpr unsigned kSeed = 7;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    std::mt19937 random(kSeed);
    int unsat = 0;
    for (int i = 0; i < 200; ++i) {
      const Formula f = random_formula(random);
      const Verdict expected = satisfiable(f) ? Verdict::Sat : Verdict::Unsat;
      const auto solver = made(asked);
      solver->add(f);
      ASSERT_EQ(solver->solve({}, {}), expected) << i;
      if (expected == Verdict::Sat) {
        ASSERT_TRUE(satisfies(solver->model(f.variables), f)) << i;
      }
      ASSERT_EQ(solve_with_proof(f, {}, 0, false, asked).verdict, expected) << i;
      unsat += expected == Verdict::Unsat;
    }
    EXPECT_GT(unsat, 20);
  });
}

// A limit never becomes a refutation.
TEST(Solvers, LimitsGiveUnknown) {
  for_each_solver([](Solver asked) {
    const auto solver = made(asked);
    solver->add(pigeons(9));
    EXPECT_EQ(solver->solve({}, {.conflicts = 10}), Verdict::Unknown);
    // Behind IPASIR the limit holds when the library asks whether to go on: CaDiCaL, every few hundred.
    EXPECT_LE(solver->conflicts(), asked == Solver::Ipasir ? 2'000 : 20);
    EXPECT_EQ(solver->solve({}, {.time = std::chrono::milliseconds(0)}), Verdict::Unknown);
    const std::atomic<bool> stop = true;
    EXPECT_EQ(solver->solve({}, {.stop = &stop}), Verdict::Unknown);
    EXPECT_EQ(solve_with_proof(pigeons(9), {.conflicts = 10}, 0, false, asked).verdict, Verdict::Unknown);
  });
}

TEST(Solvers, AssumptionsHoldForOneCall) {
  for_each_solver([](Solver asked) {
    Formula f;
    f.variables = 3;
    f.add({1, 2});
    const auto solver = made(asked);
    solver->add(f);
    EXPECT_EQ(solver->solve(std::vector<Lit>{-1, -2}, {}), Verdict::Unsat);
    EXPECT_EQ(solver->solve(std::vector<Lit>{-1}, {}), Verdict::Sat);
    EXPECT_TRUE(solver->value(2));
    EXPECT_EQ(solver->model(3).size(), 4U);  // the third is in no clause
    // Clauses that come later count with those before.
    solver->add(std::vector<Lit>{-2});
    EXPECT_EQ(solver->solve(std::vector<Lit>{-1}, {}), Verdict::Unsat);
    EXPECT_EQ(solver->solve({}, {}), Verdict::Sat);
    EXPECT_TRUE(solver->value(1));
  });
}

// What a library says is not believed. This one reports models that are none; where all false is one, it is.
TEST(Ipasir, ModelsAreChecked) {
  const auto solver = make_solver(Solver::Ipasir, 0, nullptr, TEST_IPASIR10);
  solver->add(std::vector<Lit>{-1, -2});
  EXPECT_EQ(solver->solve({}, {}), Verdict::Sat);
  EXPECT_THROW(solver->solve(std::vector<Lit>{2}, {}), InputError);
  solver->add(std::vector<Lit>{1, 2});
  EXPECT_THROW(solver->solve({}, {}), InputError);
}

// This one refutes everything. CaDiCaL's answer counts, with its model, and with the limits of the question.
TEST(Ipasir, RefutationsAreAskedAgain) {
  const auto solver = make_solver(Solver::Ipasir, 0, nullptr, TEST_IPASIR20);
  solver->add(std::vector<Lit>{1, 2});
  EXPECT_EQ(solver->solve(std::vector<Lit>{-1}, {}), Verdict::Sat);
  EXPECT_TRUE(solver->value(2) && !solver->value(1));
  solver->add(std::vector<Lit>{-2});
  EXPECT_EQ(solver->solve(std::vector<Lit>{-1}, {}), Verdict::Unsat);
  EXPECT_EQ(solver->solve({}, {}), Verdict::Sat);
  const auto hard = make_solver(Solver::Ipasir, 0, nullptr, TEST_IPASIR20);
  hard->add(pigeons(9));
  EXPECT_EQ(hard->solve({}, {.conflicts = 10}), Verdict::Unknown);
}

TEST(Ipasir, LibrariesAreNamedWhereTheyAreNone) {
  EXPECT_THROW(make_solver(Solver::Ipasir, 0, nullptr, "/no/such/library.so"), InputError);
}

TEST(Z3, AnswersAndValues) {
  const std::string text = "(declare-const x Int)(declare-const b Bool)(assert (= (* 2 x) 8))(assert b)";
  const SmtAnswer answer = solve_smtlib(text, {"x", "b"}, {});
  EXPECT_EQ(answer.verdict, Verdict::Sat);
  EXPECT_EQ(answer.values.at("x"), 4);
  EXPECT_EQ(answer.values.at("b"), 1);
  EXPECT_EQ(solve_smtlib(text + "(assert (> x 4))", {}, {}).verdict, Verdict::Unsat);
}

TEST(Deadline, IsTheSoonerOfTimeAndFlag) {
  EXPECT_FALSE(Deadline().over());
  const SolveLimits unlimited = *Deadline().limits(7);
  EXPECT_EQ(unlimited.conflicts, 7);
  EXPECT_LT(unlimited.time.count(), 0);

  std::atomic<bool> stop = false;
  const Deadline hour(std::chrono::hours(1), &stop);
  const auto minutes = [](const Deadline& d) { return d.limits()->time / std::chrono::minutes(1); };
  EXPECT_EQ(minutes(hour), 59);
  EXPECT_EQ(minutes(hour.or_in(std::chrono::minutes(10))), 9);
  EXPECT_EQ(minutes(hour.or_in(std::chrono::hours(2))), 59);
  EXPECT_EQ(minutes(hour.or_in(std::chrono::milliseconds(-1))), 59);
  stop = true;
  EXPECT_TRUE(hour.interrupted() && hour.over() && !hour.passed());
  EXPECT_FALSE(hour.limits().has_value());

  const Deadline now(std::chrono::milliseconds(0), nullptr);
  EXPECT_TRUE(now.passed() && now.over() && !now.interrupted());
}

}  // namespace
}  // namespace chorale
