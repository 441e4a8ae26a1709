#include "pareto/instance_solver.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <stdexcept>
#include <variant>

#include "bounds/growth.h"
#include "bounds/lower_bounds.h"
#include "construct/greedy.h"
#include "construct/plan_filling.h"
#include "encoder/contribution_encoding.h"
#include "encoder/step_round_encoding.h"
#include "ir/json.h"
#include "ir/tidy.h"
#include "semantics/verify.h"
#include "solvers/proof.h"
#include "symmetry/automorphisms.h"
#include "symmetry/induced_chunks.h"

namespace chorale {
// One of the two encodings, as the collective needs.
class InstanceEncoding {
 public:
  InstanceEncoding(const Topology& t, const Collective& c, const Budget& horizon,
                   const EncodingOptions& options)
      : encoding_(c.combining ? Either(std::in_place_type<ContributionEncoding>, t, c, horizon, options)
                              : Either(std::in_place_type<StepRoundEncoding>, t, c, horizon, options)) {}
  const Formula& formula() const {
    return std::visit([](const auto& e) -> const Formula& { return e.formula(); }, encoding_);
  }
  std::vector<Lit> assume(const Budget& budget) const {
    return std::visit([&](const auto& e) { return e.assume(budget); }, encoding_);
  }
  Schedule decode(const Assignment& model) const {
    return std::visit([&](const auto& e) { return e.decode(model); }, encoding_);
  }

 private:
  using Either = std::variant<StepRoundEncoding, ContributionEncoding>;
  const Either encoding_;
};

namespace {

constexpr std::int64_t kFirstConflicts = 2000;
constexpr double kMostClauses = 3e7;  // about 2 GB; a formula of more is not built

bool single_destinations(const Collective& collective) {
  return std::all_of(collective.chunks.begin(), collective.chunks.end(),
                     [](const ChunkSpec& spec) { return spec.post.size() == 1; });
}

bool solved_as_dual(const Collective& collective) {
  return collective.combining && single_destinations(collective);
}

Formula with_units(const InstanceEncoding& encoding, const Budget& budget) {
  Formula formula = encoding.formula();
  for (Lit lit : encoding.assume(budget)) formula.add({lit});
  return formula;
}

// The collective of that one chunk.
Collective only(const Collective& collective, Chunk chunk) {
  Collective one = collective;
  one.chunks = {collective.chunks[chunk]};
  return one;
}

// So many rounds that one chunk never has to wait for a link: it crosses each at most once in a step.
Budget ample(const Topology& topology, int steps) {
  std::size_t rounds = 1;
  for (const SharedLimit& limit : topology.limits)
    rounds = std::max(rounds, (limit.links.size() + limit.bandwidth - 1) / limit.bandwidth);
  return {.steps = steps, .rounds = steps * static_cast<int>(rounds)};
}

// Of the counters of links and limits, and of rounds, which are most of a formula; of the values of ranks, which
// are where links are few; and of the parts of sums, by chunk, link, step and contribution.
double clauses(const Topology& topology, const Collective& collective, const Budget& budget) {
  const double chunks = static_cast<double>(collective.chunks.size()), rounds = budget.rounds;
  double step = rounds * rounds + chunks * topology.ranks;
  const auto count = [&](double links, int bandwidth) {
    step += links * chunks * std::min(links * chunks, bandwidth * rounds + 1);
  };
  for (const Link& link : topology.links) count(1, link.bandwidth);
  for (const SharedLimit& limit : topology.limits)
    count(static_cast<double>(limit.links.size()), limit.bandwidth);
  if (collective.combining) step += chunks * static_cast<double>(topology.links.size()) * topology.ranks;
  return step * budget.steps;
}

}  // namespace

struct InstanceSolver::Part {
  std::vector<Automorphism> symmetry = {};
  Budget horizon = {.steps = 0, .rounds = 0};
  std::optional<InstanceEncoding> encoding = {};
  std::unique_ptr<SatSolver> solver = {};
  bool given_up = false;  // for this question
};

Formula refutable_formula(const Topology& topology, const Collective& collective, const Claim& claim) {
  const bool turn = solved_as_dual(collective);
  if (claim.rounds == kNoSchedule)
    return with_units(InstanceEncoding(topology, only(collective, claim.certificate.chunk),
                                       ample(topology, claim.steps), {}),
                      ample(topology, claim.steps));
  const Budget budget{.steps = claim.steps, .rounds = claim.rounds - 1};
  const InstanceEncoding encoding(turn ? reversed(topology) : topology, turn ? dual(collective) : collective,
                                  budget, {});
  return with_units(encoding, budget);
}

bool too_large_to_refute(const Topology& topology, const Collective& collective, const Claim& claim) {
  if (claim.rounds != kNoSchedule)
    return clauses(topology, solved_as_dual(collective) ? dual(collective) : collective,
                   {.steps = claim.steps, .rounds = claim.rounds - 1}) > kMostClauses;
  const Collective one = only(collective, claim.certificate.chunk);
  if (clauses(topology, one, {.steps = claim.steps, .rounds = claim.steps}) > kMostClauses) return true;
  return clauses(topology, one, ample(topology, claim.steps)) > kMostClauses;
}

InstanceSolver::InstanceSolver(const Topology& topology, const Collective& collective,
                               const SynthesisOptions& options)
    : topology_(topology),
      collective_(collective),
      dual_(solved_as_dual(collective)),
      solved_topology_(dual_ ? reversed(topology) : topology),
      solved_collective_(dual_ ? dual(collective) : collective),
      options_(options),
      full_(std::make_unique<Part>()) {}

void InstanceSolver::find_symmetry() {
  if (!options_.use_symmetry || sought_symmetry_) return;
  sought_symmetry_ = true;
  for (auto& generators : candidate_subgroups(solved_topology_, rank_colours(solved_collective_))) {
    const bool usable = std::all_of(generators.begin(), generators.end(), [this](const Automorphism& g) {
      return induced_chunks(solved_collective_, g).has_value();
    });
    if (!usable) continue;
    symmetric_.push_back(std::make_unique<Part>());
    symmetric_.back()->symmetry = std::move(generators);
  }
}

InstanceSolver::~InstanceSolver() = default;

Answer InstanceSolver::ask(const Budget& budget) {
  started_ = std::chrono::steady_clock::now();
  conflicts_ = 0;
  if (Answer answer = try_greedily(budget); answer.verdict != Verdict::Unknown) return answer;
  find_symmetry();
  for (auto& part : symmetric_) part->given_up = false;
  const std::int64_t most = options_.limits.conflicts < 0 ? INT64_MAX / 8 : options_.limits.conflicts;
  const std::int64_t first = std::min(kFirstConflicts, most);
  for (std::int64_t effort = first;; effort = std::min(effort * 4, most)) {
    Answer answer = attempt(budget, effort, effort == first);
    answer.conflicts = conflicts_;
    const bool hopeless =
        too_large(*full_, budget) && std::all_of(symmetric_.begin(), symmetric_.end(), [&](const auto& part) {
          return part->given_up || too_large(*part, budget);
        });
    answer.too_large = hopeless && answer.verdict == Verdict::Unknown;
    if (answer.verdict != Verdict::Unknown || effort == most || hopeless || !time_left()) return answer;
  }
}

// Links times chunks times steps: about the variables of a formula.
double InstanceSolver::size(const Budget& budget) const {
  return static_cast<double>(solved_topology_.links.size()) *
         static_cast<double>(solved_collective_.chunks.size()) * budget.steps;
}

Answer InstanceSolver::try_greedily(const Budget& budget) {
  constexpr double kSmall = 1e5;
  constexpr int kTries = 7;
  if (solved_collective_.combining || size(budget) > kSmall || greedy_failed_ == budget) return {};
  std::optional<Schedule> schedule =
      greedy_schedule(solved_topology_, solved_collective_, budget, {}, Claim{}, kTries);
  if (!schedule) {
    greedy_failed_ = budget;
    return {};
  }
  return {.verdict = Verdict::Sat, .point = verified(std::move(*schedule))};
}

Answer InstanceSolver::attempt(const Budget& budget, std::int64_t effort, bool first) {
  Schedule found;
  if (!solved_collective_.combining)
    if (std::optional<Schedule> schedule = greedy(budget, effort, first))
      return {.verdict = Verdict::Sat, .point = verified(std::move(*schedule))};
  for (auto& part : symmetric_)
    if (!part->given_up && ask_part(*part, budget, effort, found) == Verdict::Sat)
      return {.verdict = Verdict::Sat, .point = verified(std::move(found))};
  if (!first) return refute(budget, effort);
  switch (ask_part(*full_, budget, effort, found)) {
    case Verdict::Sat:
      return {.verdict = Verdict::Sat, .point = verified(std::move(found))};
    case Verdict::Unsat:
      return refute(budget, -1);  // was soon found, so its proof is too
    case Verdict::Unknown:
      break;
  }
  return {};
}

// Where every rank can send to every other.
std::optional<Schedule> InstanceSolver::planned(const Budget& budget) const {
  constexpr int kPlans = 64;
  constexpr unsigned kTries = 50;
  std::set<std::pair<Node, Node>> linked;
  for (const Link& link : solved_topology_.links) linked.insert({link.src, link.dst});
  const std::size_t ranks = static_cast<std::size_t>(solved_topology_.ranks);
  if (solved_topology_.limits.empty() || linked.size() < ranks * (ranks - 1)) return std::nullopt;
  for (const GrowthPlan& plan : growth_plans(solved_topology_, solved_collective_, budget, kPlans))
    for (unsigned seed = 0; seed < kTries; ++seed)
      if (auto schedule = fill_plan(solved_topology_, solved_collective_, plan, seed)) return schedule;
  return std::nullopt;
}

// At first only where a formula would take longer to write; then where solving did not answer soon, with as
// many tries as cost about as much.
std::optional<Schedule> InstanceSolver::greedy(const Budget& budget, std::int64_t effort, bool first) const {
  constexpr double kLarge = 1e5, kSizeForOneConflict = 2e3;
  if (first)
    if (std::optional<Schedule> schedule = planned(budget)) return schedule;
  if (first && size(budget) < kLarge) return std::nullopt;
  const Claim bound = fewest_rounds(solved_topology_, solved_collective_);
  if (first) {
    constexpr int kTries = 7;
    for (const auto& part : symmetric_)
      if (auto schedule =
              greedy_schedule(solved_topology_, solved_collective_, budget, part->symmetry, bound, kTries))
        return schedule;
    return greedy_schedule(solved_topology_, solved_collective_, budget, {}, bound, kTries);
  }
  const double tries = std::clamp(kSizeForOneConflict * static_cast<double>(effort) / size(budget), 1.0, 1e5);
  return greedy_schedule(solved_topology_, solved_collective_, budget, {}, bound, static_cast<int>(tries));
}

bool InstanceSolver::too_large(const Part& part, const Budget& budget) const {
  double group = 1;
  for (const Automorphism& g : part.symmetry) group *= order(g);
  group = std::min(group, static_cast<double>(solved_topology_.ranks));
  return clauses(solved_topology_, solved_collective_, budget) / group > kMostClauses;
}

Verdict InstanceSolver::ask_part(Part& part, const Budget& budget, std::int64_t conflicts, Schedule& found) {
  if (budget.steps > part.horizon.steps || budget.rounds > part.horizon.rounds) {
    if (too_large(part, budget)) return Verdict::Unknown;
    const bool again = part.horizon.steps > 0;
    part.horizon.steps = again ? std::max(budget.steps, part.horizon.steps + 1) : budget.steps;
    part.horizon.rounds = std::max(budget.rounds, again ? part.horizon.rounds + 2 : budget.rounds);
    part.encoding.emplace(solved_topology_, solved_collective_, part.horizon,
                          EncodingOptions{.symmetry = part.symmetry});
    part.solver = make_cadical(options_.seed);
    part.solver->add(part.encoding->formula());
  }
  std::optional<SolveLimits> limits = time_left();
  if (!limits) return Verdict::Unknown;
  limits->conflicts = conflicts;
  const std::int64_t before = part.solver->conflicts();
  const std::vector<Lit> assumptions = part.encoding->assume(budget);
  const Verdict verdict = part.solver->solve(assumptions, *limits);
  conflicts_ += part.solver->conflicts() - before;
  part.given_up = verdict == Verdict::Unsat;
  if (verdict != Verdict::Sat) return verdict;
  Assignment model(part.encoding->formula().variables + 1);
  for (int v = 1; v <= part.encoding->formula().variables; ++v) model[v] = part.solver->value(v);
  found = part.encoding->decode(model);
  return verdict;
}

// The full formula afresh, with a proof.
Answer InstanceSolver::refute(const Budget& budget, std::int64_t conflicts) {
  std::optional<SolveLimits> limits = time_left();
  if (!limits) return {};
  limits->conflicts = conflicts;
  if (too_large(*full_, budget)) return {};
  const InstanceEncoding encoding(solved_topology_, solved_collective_, budget, {});
  const Formula formula = with_units(encoding, budget);
  const Refutation refutation = solve_with_proof(formula, *limits, options_.seed);
  conflicts_ += refutation.conflicts;
  Answer answer{.verdict = refutation.verdict};
  if (refutation.verdict == Verdict::Sat) answer.point = verified(encoding.decode(refutation.model));
  if (refutation.verdict == Verdict::Unsat)
    answer.claim = kept({.steps = budget.steps, .rounds = budget.rounds + 1}, formula, refutation);
  return answer;
}

// The claim with its certificate; the formula and its proof on disk, where that is wanted.
Claim InstanceSolver::kept(Claim claim, const Formula& formula, const Refutation& refutation) const {
  claim.collective = collective_.name;
  claim.chunks = collective_.chunks_per_block;
  claim.certificate.kind = Certificate::Kind::Refutation;
  claim.certificate.formula_sha256 = refutation.formula_sha256;
  if (!options_.proof_dir.empty()) {
    const std::filesystem::path path = std::filesystem::path(options_.proof_dir) / refutation.formula_sha256;
    write_file(path.string() + ".cnf", to_dimacs(formula));
    write_file(path.string() + ".drat", refutation.proof);
  }
  return claim;
}

Answer InstanceSolver::ask_any_rounds(int steps) {
  started_ = std::chrono::steady_clock::now();
  conflicts_ = 0;
  if (!solved_collective_.combining) return {};
  const Budget budget = ample(topology_, steps);
  if (clauses(topology_, only(collective_, 0), budget) > kMostClauses) return {.too_large = true};
  Schedule schedule{.steps = std::vector<Step>(steps)};
  std::map<std::pair<std::vector<Rank>, std::vector<Rank>>, Schedule> known;
  for (Chunk c = 0; c < static_cast<int>(collective_.chunks.size()); ++c) {
    const ChunkSpec& spec = collective_.chunks[c];
    const auto [at, fresh] = known.try_emplace({spec.pre, spec.post});
    if (fresh) {
      const std::optional<SolveLimits> limits = time_left();
      if (!limits) return {};
      const InstanceEncoding encoding(topology_, only(collective_, c), budget, {});
      const Formula formula = with_units(encoding, budget);
      const Refutation refutation = solve_with_proof(formula, *limits, options_.seed);
      conflicts_ += refutation.conflicts;
      if (refutation.verdict == Verdict::Unknown) return {.conflicts = conflicts_};
      if (refutation.verdict == Verdict::Unsat)
        return {.verdict = Verdict::Unsat,
                .claim = kept({.steps = steps, .rounds = kNoSchedule, .certificate = {.chunk = c}}, formula,
                              refutation),
                .conflicts = conflicts_};
      at->second = encoding.decode(refutation.model);
    }
    for (std::size_t s = 0; s < at->second.steps.size(); ++s)
      for (Send send : at->second.steps[s].sends) {
        send.chunk = c;
        schedule.steps[s].sends.push_back(send);
      }
  }
  return {.verdict = Verdict::Sat,
          .point = verified(tidy(topology_, collective_, std::move(schedule))),
          .conflicts = conflicts_};
}

Point InstanceSolver::verified(Schedule schedule) const {
  Point point{.method = dual_ ? "dual" : "direct", .collective = collective_};
  point.schedule = dual_ ? reversed(schedule, true) : std::move(schedule);
  const std::vector<Fault> wrong = violations(topology_, collective_, point.schedule);
  if (!wrong.empty())
    throw std::logic_error("a schedule of our own encoding is wrong: " + wrong.front().words);
  point.cost = {.steps = static_cast<int>(point.schedule.steps.size()),
                .rounds = total_rounds(point.schedule),
                .chunks = collective_.chunks_per_block};
  return point;
}

std::optional<SolveLimits> InstanceSolver::time_left() const {
  SolveLimits limits = options_.limits;
  if (limits.stop != nullptr && *limits.stop) return std::nullopt;
  if (limits.time.count() < 0) return limits;
  limits.time -=
      std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - started_);
  if (limits.time.count() <= 0) return std::nullopt;
  return limits;
}

}  // namespace chorale
