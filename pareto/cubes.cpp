// The idea: a tree of decisions, grown at the leaf that is least decided. What is decided there is whether a
// chunk crosses a link in a step, of some candidates the one that decides most else, with both signs: the
// product of what follows by unit propagation, as in lookahead solvers. A decision that propagation refutes
// at once is not used. So the leaves are a partition by construction, and a checker sees it from them alone
// (ir/cube.h).
//
// Invariant: a question is cut and merged alike, whichever process answers its cubes and in whatever order
// they come.
#include "pareto/cubes.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <stdexcept>
#include <utility>

#include "construct/solved_question.h"
#include "encoder/known_literals.h"
#include "ir/error.h"
#include "ir/schedule_cost.h"
#include "pareto/formulas.h"
#include "pareto/side_by_side.h"
#include "semantics/verify.h"
#include "solvers/proof.h"
#include "solvers/propagation.h"

namespace chorale {
namespace {

// Decisions that are tried at a leaf, spread evenly over those that are open there.
constexpr std::size_t kTried = 200;

struct Candidate {
  Decision decision = {};
  Lit lit = 0;
};

std::vector<Candidate> candidates(const SolvedQuestion& solved, const InstanceEncoding& encoding,
                                  const Budget& budget) {
  std::vector<Candidate> result;
  for (int s = 1; s <= budget.steps; ++s)
    for (Chunk c = 0; c < std::ssize(solved.collective.chunks); ++c)
      for (LinkId l = 0; l < std::ssize(solved.topology.links); ++l) {
        const Decision decision{.chunk = c, .link = l, .step = s};
        if (const Lit lit = encoding.sent(decision); lit != kFalse && lit != kTrue)
          result.push_back({.decision = decision, .lit = lit});
      }
  return result;
}

struct Leaf {
  Cube cube = {};
  std::vector<Lit> lits = {};
  std::size_t known = 0;  // literals that follow
  bool whole = false;     // nothing is left to be decided
};

// How many literals follow, or none where they cannot be.
std::optional<std::size_t> following(Propagation& propagation, Lit lit) {
  const std::size_t before = propagation.known();
  const bool possible = propagation.assume(lit);
  const std::size_t known = propagation.known();
  propagation.back_to(before);
  return possible ? std::optional(known - before) : std::nullopt;
}

// The decision that leaves least to be decided, with either sign.
const Candidate* best_decision(Propagation& propagation, const std::vector<Candidate>& all) {
  std::vector<const Candidate*> open;
  for (const Candidate& one : all)
    if (propagation.value(one.lit) == 0) open.push_back(&one);
  const std::size_t tried = std::min(open.size(), kTried);
  const Candidate* best = nullptr;
  double most = -1;
  for (std::size_t i = 0; i < tried; ++i) {
    const Candidate* const one = open[i * open.size() / tried];
    const auto with = following(propagation, one->lit), without = following(propagation, -one->lit);
    if (!with || !without) continue;
    const double score = static_cast<double>(*with) * static_cast<double>(*without);
    if (score <= most) continue;
    most = score;
    best = one;
  }
  return best;
}

// The two leaves that this one becomes; none: it is whole.
std::vector<Leaf> grown(Propagation& propagation, const Leaf& leaf, const std::vector<Candidate>& all) {
  const std::size_t root = propagation.known();
  bool possible = true;
  for (const Lit lit : leaf.lits) possible = possible && propagation.assume(lit);
  std::vector<Leaf> result;
  if (const Candidate* const best = possible ? best_decision(propagation, all) : nullptr)
    for (const bool sent : {true, false}) {
      Leaf& child = result.emplace_back(leaf);
      child.cube.decisions.push_back(best->decision);
      child.cube.decisions.back().sent = sent;
      child.lits.push_back(sent ? best->lit : -best->lit);
      child.known = propagation.known() + following(propagation, child.lits.back()).value_or(0);
    }
  propagation.back_to(root);
  return result;
}

}  // namespace

// The leaf with the fewest literals known is grown first, so cubes are of similar size. Where propagation
// refutes the formula at once, or time is over, there are fewer cubes than asked for.
std::vector<Cube> cut(const Topology& topology, const Collective& collective, const Budget& budget, int cubes,
                      const Deadline& deadline) {
  const SolvedQuestion solved(topology, collective);
  const InstanceEncoding encoding(solved.topology, solved.collective, budget);
  Propagation propagation(with_units(encoding, budget));
  const std::vector<Candidate> all = candidates(solved, encoding, budget);
  std::vector<Leaf> leaves = {{.whole = propagation.refuted()}};
  while (std::ssize(leaves) < cubes && !deadline.over()) {
    const auto least = std::ranges::min_element(
        leaves, {}, [](const Leaf& leaf) { return std::pair(leaf.whole, leaf.known); });
    if (least->whole) break;
    const std::vector<Leaf> two = grown(propagation, *least, all);
    if (two.empty()) {
      least->whole = true;
      continue;
    }
    *least = two[0];
    leaves.insert(least + 1, two[1]);
  }
  std::vector<Cube> result;
  for (Leaf& leaf : leaves) result.push_back(std::move(leaf.cube));
  return result;
}

CubeAnswer solve_cube(const Topology& topology, const Collective& collective, const Budget& budget,
                      const Cube& cube, const SynthesisOptions& options, const Deadline& deadline) {
  const std::optional<SolveLimits> limits = deadline.limits(options.limits.conflicts);
  if (!limits) return {};
  const SolvedQuestion solved(topology, collective);
  const InstanceEncoding encoding(solved.topology, solved.collective, budget);
  const Formula formula = with_cube(with_units(encoding, budget), encoding, cube);
  const Refutation found = solve_with_proof(formula, *limits, options.seed, false, options.solver);
  CubeAnswer answer{.verdict = found.verdict, .conflicts = found.conflicts};
  if (found.verdict == Verdict::Unsat && !options.proof_dir.empty())
    keep_proof(options.proof_dir, formula, found);
  if (found.verdict != Verdict::Sat) return answer;
  answer.point = solved.point(encoding.decode(found.model), collective, name_of(Engine::Sat));
  if (const auto wrong = violations(topology, collective, answer.point->schedule, 1); !wrong.empty())
    throw std::logic_error("a schedule of our own is wrong: " + wrong.front().words);
  return answer;
}

// The first cube with a schedule counts, whichever thread is the first to find one: only cubes after it are
// left out. So the answer is the same for any number of threads.
void solve_cubes(const Topology& topology, const Collective& collective, CutQuestion& question,
                 const SynthesisOptions& options, const Deadline& deadline) {
  question.answers.assign(question.cubes.size(), {});
  std::atomic<std::size_t> first_found = question.cubes.size();
  std::vector<std::function<void()>> tasks;
  for (std::size_t i = 0; i < question.cubes.size(); ++i)
    tasks.push_back([&, i] {
      if (i > first_found) return;
      question.answers[i] =
          solve_cube(topology, collective, question.budget, question.cubes[i], options, deadline);
      std::size_t known = first_found;
      while (question.answers[i].verdict == Verdict::Sat && i < known &&
             !first_found.compare_exchange_weak(known, i)) {
      }
    });
  side_by_side(tasks, options.cube_jobs);
}

// Answers may come from other processes: a schedule is verified again, and Unsat is claimed only of all cubes
// of a partition.
Answer put_together(const Topology& topology, const Collective& collective, const CutQuestion& question) {
  Answer answer;
  for (const CubeAnswer& one : question.answers) answer.conflicts += one.conflicts;
  const auto is = [](Verdict verdict) {
    return [verdict](const CubeAnswer& one) { return one.verdict == verdict; };
  };
  const auto found = std::ranges::find_if(question.answers, is(Verdict::Sat));
  if (found != question.answers.end()) {
    const std::string where = "the answer to a cube";
    if (!found->point) throw InputError(where, "has no schedule", "search again");
    if (const auto wrong = violations(topology, collective, found->point->schedule, 1); !wrong.empty())
      throw InputError(where, wrong.front());
    answer.point = found->point;
    answer.point->collective = collective;
    answer.point->cost = cost_of(found->point->schedule, collective.chunks_per_block);
    if (answer.point->cost.steps > question.budget.steps ||
        answer.point->cost.rounds > question.budget.rounds)
      throw InputError(where, "has more steps or rounds than were asked", "search again");
    answer.verdict = Verdict::Sat;
    return answer;
  }
  if (question.answers.size() != question.cubes.size() ||
      !std::ranges::all_of(question.answers, is(Verdict::Unsat)) || !is_partition(question.cubes))
    return answer;
  answer.verdict = Verdict::Unsat;
  answer.claim = Claim{.collective = collective.kind,
                       .chunks = collective.chunks_per_block,
                       .steps = question.budget.steps,
                       .rounds = question.budget.rounds + 1,
                       .certificate = {.kind = Certificate::Kind::Refutation}};
  if (question.cubes.size() > 1) answer.claim->certificate.cubes = question.cubes;
  answer.claim->certificate.formula_sha256 =
      sha256_hex(to_dimacs(refutable_formula(topology, collective, *answer.claim)));
  return answer;
}

const CutQuestion* answered_elsewhere(const SynthesisOptions& options, const Collective& collective,
                                      const Budget& budget) {
  for (const CutQuestion& question : options.cut)
    if (question.collective == collective.kind && question.chunks == collective.chunks_per_block &&
        question.budget == budget)
      return &question;
  return nullptr;
}

}  // namespace chorale
