// Three kinds of statements, three kinds of evidence: schedules are run by the verifier; bounds are evaluated
// by checkers that are independent of their finders; refutations are solved again, with a proof that is
// checked. A proof shows that a formula has no model, not that the formula expresses the question: so a
// refutation is tried from the plain formula first, which expresses the verifier's rules and nothing else. To
// check the derivation of the search's formula from the plain one instead, clause by clause, was not done:
// most of its clauses are about counters of another kind.
//
// Points come first, then claims, and only where all of these hold, what the result states of its points by
// its claims (pareto/space_check.h). What cannot be decided within the limits is counted as undecided and is
// neither a fault nor shown. First of all, where links are paths through switches, that they are.
#include "pareto/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bounds/check.h"
#include "construct/baselines/classic.h"
#include "ir/agreement.h"
#include "ir/collective.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/frontier.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/sizes.h"
#include "ir/topology.h"
#include "ir/words.h"
#include "pareto/bound_proof.h"
#include "pareto/formulas.h"
#include "pareto/space_check.h"
#include "semantics/plain_formula.h"
#include "semantics/verify.h"
#include "semantics/verify_routes.h"
#include "solvers/proof.h"

namespace chorale {
namespace {

// Proofs for checkers of others, in a folder: each formula beside its proof, and an index that names the
// claims (docs/formats.md). The index is written again after each proof, so it never names what is not there.
//
// Files first, and then the whole index again, which is small: a folder of a search that was stopped is
// complete for what its index names.

class ProofFolder {
 public:
  // Path "": nothing is asked for. Throws InputError where it cannot be written to.
  ProofFolder(std::string path, std::string index);

  bool is_asked() const { return !path_.empty(); }
  // Files with names in the folder, and their row in the index, an object of JSON.
  void keep(std::vector<NamedText> files, JsonText row);
  // A claim of which nothing, or not all, is here, if proofs are asked for.
  void leave_out(int claim, const std::string& why);

 private:
  void write_index() const;

  const std::string path_, index_;
  std::vector<JsonText> rows_ = {}, left_out_ = {};
};

ProofFolder::ProofFolder(std::string path, std::string index)
    : path_(std::move(path)), index_(std::move(index)) {
  if (is_asked()) write_index();
}

void ProofFolder::keep(std::vector<NamedText> files, JsonText row) {
  for (NamedText& file : files) file.path = (std::filesystem::path(path_) / file.path).string();
  write_files(files);
  rows_.push_back(std::move(row));
  write_index();
}

void ProofFolder::leave_out(int claim, const std::string& why) {
  if (!is_asked()) return;
  left_out_.push_back(json_object("claim", claim, "why", why));
  write_index();
}

void ProofFolder::write_index() const {
  write_file((std::filesystem::path(path_) / index_).string(),
             json_file("chorale_proofs", 1, "proofs", rows_, "left_out", left_out_));
}

// Files are named by the hash of their formula.
// A refutation with its LRAT text. `plain`: of the plain formula, otherwise of the search's.
void keep_lrat(ProofFolder& folder, int claim, bool plain, const Formula& formula,
               const Refutation& refutation) {
  const std::string& name = refutation.formula_sha256;
  folder.keep({{.path = name + ".cnf", .text = to_dimacs(formula)},
               {.path = name + ".lrat", .text = refutation.lrat}},
              json_object("claim", claim, "formula", plain ? "plain" : "search", "cnf", name + ".cnf", "lrat",
                          name + ".lrat", "lrat_bytes", refutation.lrat.size(), "drat_bytes",
                          refutation.proof.size()));
}

// The claim about that collective; left out where it has no proof.
void keep_bound(ProofFolder& folder, int number, const Topology& topology, const Collective& collective,
                const Claim& claim, PbFormat format) {
  BoundProof proof = bound_proof(topology, collective, claim, format);
  const bool all = claim.any_chunks && is_paid(claim);
  const std::string of = all ? "any" : fmt::format("{}", collective.chunks_per_block);
  if (!proof.why_none.empty())
    return folder.leave_out(number,
                            fmt::format("of {} chunk{}: {}", of, of == "1" ? "" : "s", proof.why_none));
  const std::string name = fmt::format("claim{}_chunks{}", number, of);
  folder.keep({{.path = name + ".opb", .text = std::move(proof.opb)},
               {.path = name + ".pbp", .text = std::move(proof.pbp)}},
              json_object("claim", number, "chunks", proof.chunks, "steps", proof.steps, "rounds",
                          proof.rounds, "payment", proof.payment, "per_round", proof.per_round, "opb",
                          name + ".opb", "pbp", name + ".pbp", "rules", proof.rules, "cuts", proof.cuts));
}

constexpr double kMostBytes = 1 << 28;  // of collectives that are kept; one may take more

class Checker {
 public:
  Checker(const Result& result, const std::string& proof_dir, const SolveLimits& limits,
          const std::function<void(const CheckReport&)>& progress, const PlainEffort& plain,
          const RefutedFormula& formula, const KeptProofs& kept)
      : result_(result),
        proof_dir_(proof_dir),
        limits_(limits),
        progress_(progress),
        plain_(plain),
        formula_(formula),
        lrat_(kept.lrat, "lrat.json"),
        pb_(kept.pb, "pb.json"),
        pb_format_(kept.pb_format) {}

  CheckReport run() {
    report_.faults = route_faults(result_.topology);
    if (!report_.faults.empty()) return std::move(report_);
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      check_point(result_.points[i], {.point = static_cast<int>(i)});
      if (progress_) progress_(report_);
    }
    for (std::size_t i = 0; i < result_.claims.size(); ++i) {
      check_claim(result_.claims[i], {.claim = static_cast<int>(i)});
      if (progress_) progress_(report_);
    }
    for (std::size_t i = 0; i < result_.time_claims.size(); ++i) check_time(static_cast<int>(i));
    // Consequences of claims are checked only where the claims hold.
    if (report_.faults.empty()) report_.faults = space_faults(result_);
    return std::move(report_);
  }

 private:
  using Kind = Fault::Kind;

  void fail(const FaultPlace& at, Kind kind, const std::string& what) {
    report_.faults.push_back({.kind = kind,
                              .place = at,
                              .words = at.point >= 0 ? fmt::format("points[{}]: {}", at.point, what)
                                                     : fmt::format("claims[{}]: {}", at.claim, what)});
  }
  // What a second checker found, in a point.
  void fail(const FaultPlace& at, std::vector<Fault> faults) {
    for (Fault& fault : faults) {
      fault.place.point = at.point;
      fail(fault.place, fault.kind, fault.words);
    }
  }

  // What points and claims speak of, made once for as long as there is room: many speak of the same. None,
  // and a fault, where it cannot be made. Valid until another is asked for.
  const Collective* named(CollectiveKind kind, int chunks, const FaultPlace& at) {
    const auto known = named_.find({kind, chunks});
    if (known != named_.end()) return &known->second;
    const Collective& asked = result_.collective;
    const bool same = kind == CollectiveKind::Custom && chunks == asked.chunks_per_block;
    if (const std::string why = same ? "" : excess(asked, kind, chunks); !why.empty()) {
      fail(at, Kind::Statement, why);
      return nullptr;
    }
    Collective made = same ? asked : of_kind(asked, kind, chunks);
    // All are forgotten when they are too many; the one that is asked for is kept whatever its size.
    named_bytes_ += bytes_of(made);
    if (named_bytes_ > kMostBytes) {
      named_.clear();
      named_bytes_ = bytes_of(made);
    }
    return &(named_[{kind, chunks}] = std::move(made));
  }

  // The schedule implements the point's collective, which is the requested one, and its cost is as stated.
  void check_point(const Point& point, const FaultPlace& at) {
    const Collective* const asked = named(result_.collective.kind, point.cost.chunks, at);
    if (asked == nullptr) return;
    fail(at, violations(result_.topology, *asked, point));
    check_method(point, *asked, at);
    ++report_.schedules;
  }

  // The schedule can have come about by the point's method.
  void check_method(const Point& point, const Collective& asked, const FaultPlace& at) {
    const Collective& does = point.collective;
    const auto require = [&](bool holds, const std::string& otherwise) {
      if (!holds) fail(at, Kind::Statement, "method '" + name_of(point.method) + "': " + otherwise);
    };
    const bool of_families = point.method == Method::Gathered || point.method == Method::Composed;
    if (of_families && !has_families())
      return require(false,
                     "only the frontier of an AllReduce, or one of sums made at once, has such points");
    if (point.method == Method::Gathered)
      return require(does == of_kind(asked, CollectiveKind::AllReduceByGather, point.cost.chunks),
                     "the schedule does not gather whole vectors");
    // Not only the same outcome: the precondition is the requested one, too.
    const bool composed = point.method == Method::Composed;
    require(composed
                ? std::ranges::any_of(first_phases(asked),
                                      [&](CollectiveKind first) {
                                        return does == of_kind(asked, kind_of_both(first), point.cost.chunks);
                                      })
                : does == asked,
            "the schedule does not do what was asked for");
    if (point.method == Method::Dual)
      return require(has_copying_dual(does), "only sums with one destination each have a dual that copies");
    if (composed)
      return require(is_composed(point), "the schedule is not a ReduceScatter and then an Allgather");
    const auto of_any_kind = {Method::Direct, Method::Levels, Method::Patched};
    if (std::ranges::find(of_any_kind, point.method) != of_any_kind.end()) return;
    const std::vector<ClassicEntry>& known = classic_catalogue();
    const auto entry = std::ranges::find(known, point.method, &ClassicEntry::method);
    require(entry != known.end() && entry->collective == result_.collective.kind,
            "is not for " + name_of(result_.collective));
  }

  // Only where a frontier of AllReduces was searched, or one whose sums are made at once, are there two more
  // families; all else is what it is called.
  bool has_families() const {
    return result_.collective.kind == CollectiveKind::AllReduce &&
           (result_.kind == ResultKind::Frontier || adds_once(result_.collective));
  }

  // Its first steps, as many as the point states, are a ReduceScatter, and the others are an Allgather.
  bool is_composed(const Point& point) const {
    const int ranks = result_.topology.ranks, chunks = point.cost.chunks / ranks;
    if (chunks * ranks != point.cost.chunks || point.reduce_scatter_steps < 0 ||
        point.reduce_scatter_steps > std::ssize(point.schedule.steps))
      return false;
    const auto [scatter, gather] = phases(point);
    return violations(result_.topology, scatter.collective, scatter.schedule, 1).empty() &&
           violations(result_.topology, gather.collective, gather.schedule, 1).empty();
  }

  void check_claim(const Claim& claim, const FaultPlace& at) {
    const bool part =
        has_families() && (std::ranges::count(first_phases(result_.collective), claim.collective) > 0 ||
                           claim.collective == CollectiveKind::Allgather);
    if (claim.collective != result_.collective.kind && !part)
      return fail(at, Kind::Claim,
                  "is about " + name_of(claim.collective) + ", which proves nothing about " +
                      name_of(result_.collective));
    const Collective* const collective = named(claim.collective, claim.any_chunks ? 1 : claim.chunks, at);
    if (collective == nullptr) return;
    if (claim.certificate.kind == Certificate::Kind::Refutation)
      return check_refutation(claim, *collective, at);
    if (const auto wrong = fault(result_.topology, *collective, claim))
      return fail(at, wrong->kind, wrong->words);
    ++report_.bounds;
    if (pb_.is_asked()) keep_for_others(claim, at);
  }

  void check_time(int i) {
    const Collective* const one = named(result_.collective.kind, 1, {});
    if (one == nullptr) return;
    if (auto wrong = fault(result_.topology, *one, result_.claims, result_.time_claims[i])) {
      wrong->words = fmt::format("time_claims[{}]: {}", i, wrong->words);
      report_.faults.push_back(*std::move(wrong));
    } else {
      ++report_.times;
    }
  }

  // For each number of chunks that it is used for: of points on the frontier, or of their phases. That one
  // chunk cannot be served is one formula.
  void keep_for_others(const Claim& claim, const FaultPlace& at) {
    if (result_.topology.underlay) return pb_.leave_out(at.claim, "it is about routes that were not chosen");
    std::set<int> counts;
    const int parts = claim.collective == result_.collective.kind ? 1 : result_.topology.ranks;
    for (const Point& point : result_.points)
      if (point.on_frontier && point.cost.chunks % parts == 0) counts.insert(point.cost.chunks / parts);
    if (counts.empty()) counts.insert(result_.space.min_chunks);
    if (!claim.any_chunks || claim.rounds == kNoSchedule) counts = {claim.chunks};
    if (claim.any_chunks && is_paid(claim)) counts = {1};
    for (const int chunks : counts)
      if (const Collective* const of = named(claim.collective, chunks, at))
        keep_bound(pb_, at.claim, result_.topology, *of, claim, pb_format_);
  }

  // A refutation, in the order of what it costs: the words of the claim, its size, the name of its formula,
  // the kept proof, then solving. A kept proof that does not hold is a fault even where something else shows
  // the claim: it was handed over as true. One that holds shows that the search's formula has no model, and
  // the claim is still tried from the plain one, since that shows more.
  void check_refutation(const Claim& claim, const Collective& collective, const FaultPlace& at) {
    const bool all_rounds = claim.rounds == kNoSchedule;
    if (result_.topology.underlay)
      return fail(at, Kind::Claim, "a refutation proves nothing about routes that were not chosen");
    if (collective.combining && adds_once(collective))
      return fail(at, Kind::Claim,
                  "a refutation proves nothing about sums of contributions that are relayed");
    // Refuted is one round less, and the budget of a formula has at least one.
    if (claim.steps == kAnySteps || claim.steps < 1 || claim.rounds < 2)
      return fail(at, Kind::Claim, "a refutation is of a number of steps and rounds");
    if (claim.certificate.chunk >= static_cast<int>(collective.chunks.size()) ||
        (!all_rounds && claim.certificate.chunk != 0))
      return fail(at, Kind::Claim,
                  "there is no chunk " + std::to_string(claim.certificate.chunk) + " to refute");
    if (claim.any_chunks && (!all_rounds || claim.chunks != 1))
      return fail(at, Kind::Claim, "a refutation of rounds is of one chunk count");
    if (all_rounds && !(collective.combining && !has_copying_dual(collective)))
      return fail(at, Kind::Claim,
                  "only of sums with several destinations can it be that no rounds are enough");
    if (too_large_to_refute(result_.topology, collective, claim)) return leave_undecided(at);
    const Formula formula = formula_(result_.topology, collective, claim);
    if (sha256_hex(to_dimacs(formula)) != claim.certificate.formula_sha256)
      return fail(at, Kind::Claim,
                  "the formula of this claim has another SHA-256 than " + claim.certificate.formula_sha256);
    std::string wrong;
    const std::optional<Refutation> kept = kept_refutation(formula, wrong);
    if (!wrong.empty()) return fail(at, Kind::Claim, "the kept proof does not hold: " + wrong);
    if (is_shown_plainly(claim, collective, at)) return;
    if (accepts(kept ? *kept : solved(formula, limits_), formula, at)) ++report_.refutations;
  }

  // An answer about the search's formula.
  bool accepts(const Refutation& answer, const Formula& formula, const FaultPlace& at) {
    if (answer.verdict == Verdict::Sat) fail(at, Kind::Claim, "the formula that it refutes is satisfiable");
    if (answer.verdict == Verdict::Unknown) leave_undecided(at);
    if (answer.verdict != Verdict::Unsat) return false;
    if (lrat_.is_asked()) keep_lrat(lrat_, at.claim, false, formula, answer);
    return true;
  }

  void leave_undecided(const FaultPlace& at) {
    ++report_.undecided;
    lrat_.leave_out(at.claim, "undecided within the limits");
  }

  Refutation solved(const Formula& formula, const SolveLimits& limits) const {
    return solve_with_proof(formula, limits, 0, lrat_.is_asked());
  }

  // Does the plain formula show the refutation, or show that it is wrong? If neither, nothing is reported of
  // it.
  bool is_shown_plainly(const Claim& claim, const Collective& collective, const FaultPlace& at) {
    const bool all_rounds = claim.rounds == kNoSchedule;
    Collective one = collective;  // the chunk, which meets no other where rounds do not matter
    if (all_rounds) one.chunks = {collective.chunks[claim.certificate.chunk]};
    const Collective& asked = all_rounds ? one : collective;
    const Budget budget{.steps = claim.steps, .rounds = all_rounds ? kAnyRounds : claim.rounds - 1};
    if (plain_.conflicts == 0 || PlainFormula::literals(result_.topology, asked, budget) > plain_.literals)
      return false;
    const PlainFormula plain(result_.topology, asked, budget, true);
    SolveLimits limits = limits_;
    limits.conflicts = limits.conflicts < 0 ? plain_.conflicts : std::min(plain_.conflicts, limits.conflicts);
    const Refutation answer = solved(plain.formula(), limits);
    if (answer.verdict == Verdict::Unknown) return false;
    if (answer.verdict == Verdict::Unsat) {
      ++report_.refutations;
      ++report_.plain;
      if (lrat_.is_asked()) keep_lrat(lrat_, at.claim, true, plain.formula(), answer);
      return true;
    }
    const Schedule schedule = plain.schedule(answer.model);
    if (const auto wrong = violations(result_.topology, asked, schedule, 1); !wrong.empty())
      throw std::logic_error("the plain formula has a model that is not a schedule: " + wrong.front().words);
    fail(at, Kind::Claim,
         fmt::format("there is a schedule of {} and {}", counted(std::ssize(schedule.steps), "step"),
                     counted(total_rounds(schedule), "round")));
    return true;
  }

  // By the proof that was kept for that formula, if any, and what is wrong with it. Unknown if interrupted.
  std::optional<Refutation> kept_refutation(const Formula& formula, std::string& wrong) const {
    if (proof_dir_.empty()) return std::nullopt;
    Refutation kept{.verdict = Verdict::Unsat, .formula_sha256 = sha256_hex(to_dimacs(formula))};
    const std::filesystem::path path = std::filesystem::path(proof_dir_) / (kept.formula_sha256 + ".drat");
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
    kept.proof = read_file(path.string());
    wrong = proof_fault(formula, kept.proof, limits_.stop, lrat_.is_asked() ? &kept.lrat : nullptr);
    if (limits_.stop != nullptr && *limits_.stop) {
      wrong.clear();
      kept.verdict = Verdict::Unknown;
    }
    return kept;
  }

  const Result& result_;
  const std::string& proof_dir_;
  const SolveLimits& limits_;
  const std::function<void(const CheckReport&)>& progress_;
  const PlainEffort& plain_;
  const RefutedFormula& formula_;
  ProofFolder lrat_, pb_;
  const PbFormat pb_format_;
  std::map<std::pair<CollectiveKind, int>, Collective> named_ = {};
  double named_bytes_ = 0;
  CheckReport report_ = {};
};

}  // namespace

Formula formula_of_the_search(const Topology& topology, const Collective& collective, const Claim& claim) {
  return refutable_formula(topology, collective, claim);
}

CheckReport check_result(const Result& result, const std::string& proof_dir, const SolveLimits& limits,
                         const std::function<void(const CheckReport&)>& progress, const PlainEffort& plain,
                         const RefutedFormula& formula, const KeptProofs& kept) {
  return Checker(result, proof_dir, limits, progress, plain, formula, kept).run();
}

}  // namespace chorale
