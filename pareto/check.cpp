#include "pareto/check.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "bounds/check.h"
#include "construct/classic.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/sizes.h"
#include "pareto/formulas.h"
#include "pareto/space_check.h"
#include "semantics/verify.h"
#include "solvers/proof.h"

namespace chorale {
namespace {

constexpr double kMostBytes = 1 << 28;  // of collectives that are kept; one may take more

class Checker {
 public:
  Checker(const Result& result, const std::string& proof_dir, const SolveLimits& limits,
          const std::function<void(const CheckReport&)>& progress)
      : result_(result), proof_dir_(proof_dir), limits_(limits), progress_(progress) {}

  CheckReport run() {
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      check_point(result_.points[i], "points[" + std::to_string(i) + "]");
      if (progress_) progress_(report_);
    }
    for (std::size_t i = 0; i < result_.claims.size(); ++i) {
      check_claim(result_.claims[i], "claims[" + std::to_string(i) + "]");
      if (progress_) progress_(report_);
    }
    // What follows from claims is only worth a look where they hold.
    if (report_.faults.empty()) report_.faults = space_faults(result_);
    return std::move(report_);
  }

 private:
  void fail(const std::string& where, const std::string& what) {
    report_.faults.push_back(where + ": " + what);
  }

  // What points and claims speak of, made once for as long as there is room: many speak of the same. None,
  // and a fault, where it cannot be made. Valid until another is asked for.
  const Collective* named(CollectiveKind kind, int chunks, const std::string& where) {
    const auto [at, fresh] = named_.try_emplace({kind, chunks});
    if (!fresh) return &at->second;
    Collective made;
    try {
      made = make(kind, chunks);
    } catch (const InputError& error) {
      named_.erase(at);
      fail(where, error.what());
      return nullptr;
    }
    named_bytes_ += bytes_of(made);
    if (named_bytes_ <= kMostBytes) return &(at->second = std::move(made));
    named_.clear();
    named_bytes_ = bytes_of(made);
    return &(named_[{kind, chunks}] = std::move(made));
  }

  Collective make(CollectiveKind kind, int chunks) const {
    const Collective& asked = result_.collective;
    if (kind != CollectiveKind::Custom)
      return make_collective(kind, result_.topology.ranks, chunks, asked.root);
    return chunks == asked.chunks_per_block ? asked : refined(asked, chunks);
  }

  // The schedule does what the point's collective says, that is what was asked for, and its cost is as
  // stated.
  void check_point(const Point& point, const std::string& where) {
    const Collective* const asked = named(result_.collective.kind, point.cost.chunks, where);
    if (asked == nullptr) return;
    for (const Fault& wrong : violations(result_.topology, *asked, point)) fail(where, wrong.words);
    check_method(point, *asked, where);
    ++report_.schedules;
  }

  // That the schedule can have come about as the point says.
  void check_method(const Point& point, const Collective& asked, const std::string& where) {
    const Collective& does = point.collective;
    const auto require = [&](bool holds, const std::string& otherwise) {
      if (!holds) fail(where, "method '" + name_of(point.method) + "': " + otherwise);
    };
    const bool of_families = point.method == Method::Gathered || point.method == Method::Composed;
    if (of_families && !has_families())
      return require(false, "only the frontier of an AllReduce has such points");
    if (point.method == Method::Gathered)
      return require(
          does == make_collective(CollectiveKind::AllReduceByGather, does.ranks, point.cost.chunks),
          "the schedule does not gather whole vectors");
    // Not only the same outcome: who has what before is what was asked for, too.
    require(does == asked, "the schedule does not do what was asked for");
    if (point.method == Method::Dual)
      return require(does.combining && std::all_of(does.chunks.begin(), does.chunks.end(),
                                                   [](const ChunkSpec& c) { return c.post.size() == 1; }),
                     "only sums with one destination each have a dual that copies");
    if (point.method == Method::Composed)
      return require(is_composed(point), "the schedule is not a ReduceScatter and then an Allgather");
    if (point.method == Method::Direct || point.method == Method::Routed) return;
    const std::vector<ClassicEntry>& known = classic_catalogue();
    const auto entry = std::ranges::find(known, point.method, &ClassicEntry::method);
    require(entry != known.end() && entry->collective == result_.collective.kind,
            "is not for " + name_of(result_.collective));
  }

  bool has_families() const {
    return result_.kind == ResultKind::Frontier && result_.collective.kind == CollectiveKind::AllReduce;
  }

  // Some number of its first steps is a ReduceScatter, and the others are an Allgather. An Allgather sends every
  // chunk once to every rank but its owner, so the number of its sends says where it begins; steps without sends
  // make no difference.
  bool is_composed(const Point& point) const {
    const int ranks = result_.topology.ranks, chunks = point.cost.chunks / ranks;
    if (chunks * ranks != point.cost.chunks) return false;
    const Collective scatter = make_collective(CollectiveKind::ReduceScatter, ranks, chunks);
    const Collective gather = make_collective(CollectiveKind::Allgather, ranks, chunks);
    const std::vector<Step>& steps = point.schedule.steps;
    const std::size_t gathers = static_cast<std::size_t>(point.cost.chunks) * (ranks - 1);
    std::size_t sends = 0;
    auto middle = steps.end();
    while (sends < gathers && middle != steps.begin()) sends += (--middle)->sends.size();
    return sends == gathers &&
           violations(result_.topology, scatter, {.steps = {steps.begin(), middle}}, 1).empty() &&
           violations(result_.topology, gather, {.steps = {middle, steps.end()}}, 1).empty();
  }

  void check_claim(const Claim& claim, const std::string& where) {
    const bool part = has_families() && (claim.collective == CollectiveKind::ReduceScatter ||
                                         claim.collective == CollectiveKind::Allgather);
    if (claim.collective != result_.collective.kind && !part)
      return fail(where, "is about " + name_of(claim.collective) + ", which says nothing of " +
                             name_of(result_.collective));
    const Collective* const collective = named(claim.collective, claim.chunks, where);
    if (collective == nullptr) return;
    if (claim.certificate.kind == Certificate::Kind::Refutation)
      return check_refutation(claim, *collective, where);
    const std::string wrong = fault(result_.topology, *collective, claim);
    if (!wrong.empty()) return fail(where, wrong);
    ++report_.bounds;
  }

  void check_refutation(const Claim& claim, const Collective& collective, const std::string& where) {
    const bool all_rounds = claim.rounds == kNoSchedule;
    if (claim.steps == kAnySteps || claim.steps < 1 || claim.rounds < 2)
      return fail(where, "a refutation is of a number of steps and rounds");
    if (claim.certificate.chunk >= static_cast<int>(collective.chunks.size()) ||
        (!all_rounds && claim.certificate.chunk != 0))
      return fail(where, "there is no chunk " + std::to_string(claim.certificate.chunk) + " to refute");
    if (all_rounds && !has_sums_for_several(collective))
      return fail(where, "only of sums with several destinations can it be that no rounds are enough");
    if (too_large_to_refute(result_.topology, collective, claim)) {
      ++report_.undecided;
      return;
    }
    const Formula formula = refutable_formula(result_.topology, collective, claim);
    if (sha256_hex(to_dimacs(formula)) != claim.certificate.formula_sha256)
      return fail(where,
                  "the formula of this claim has another SHA-256 than " + claim.certificate.formula_sha256);
    if (const std::optional<std::string> proof = kept_proof(claim.certificate.formula_sha256)) {
      const std::string wrong = proof_fault(formula, *proof, limits_.stop);
      if (limits_.stop != nullptr && *limits_.stop) {
        ++report_.undecided;
        return;
      }
      if (!wrong.empty()) return fail(where, "the kept proof does not hold: " + wrong);
      ++report_.refutations;
      return;
    }
    switch (solve_with_proof(formula, limits_).verdict) {
      case Verdict::Unsat:
        ++report_.refutations;
        break;
      case Verdict::Sat:
        fail(where, "the formula that it refutes is satisfiable");
        break;
      case Verdict::Unknown:
        ++report_.undecided;
        break;
    }
  }

  static bool has_sums_for_several(const Collective& collective) {
    return collective.combining && std::any_of(collective.chunks.begin(), collective.chunks.end(),
                                               [](const ChunkSpec& c) { return c.post.size() != 1; });
  }

  // The DRAT text that was kept for that formula, if any.
  std::optional<std::string> kept_proof(const std::string& sha256) const {
    if (proof_dir_.empty()) return std::nullopt;
    const std::filesystem::path path = std::filesystem::path(proof_dir_) / (sha256 + ".drat");
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    return read_file(path.string());
  }

  const Result& result_;
  const std::string& proof_dir_;
  const SolveLimits& limits_;
  const std::function<void(const CheckReport&)>& progress_;
  std::map<std::pair<CollectiveKind, int>, Collective> named_ = {};
  double named_bytes_ = 0;
  CheckReport report_ = {};
};

}  // namespace

CheckReport check_result(const Result& result, const std::string& proof_dir, const SolveLimits& limits,
                         const std::function<void(const CheckReport&)>& progress) {
  return Checker(result, proof_dir, limits, progress).run();
}

}  // namespace chorale
