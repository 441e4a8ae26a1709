// What `proven by` names, against the claims themselves: claims are left out of a result, and it is marked
// anew, which the checker's own arithmetic confirms (pareto/space_check.h). What is named is enough, none of
// it can be left out beside the rest of it, and what is not named can.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "pareto/optimality.h"
#include "pareto/search.h"
#include "pareto/space_check.h"
#include "pareto/synthesis_search.h"
#include "tests/kit/random.h"
#include "tests/property/makers.h"
#include "tests/property/suite.h"
#include "topology/builders.h"

namespace chorale {
namespace {

using NamedClaims = std::set<const Claim*>;

NamedClaims as_set(const std::vector<const Claim*>& claims) {
  return {claims.begin(), claims.end()};
}

NamedClaims both(const Reasons& reasons) {
  NamedClaims named = as_set(reasons.rounds);
  named.insert(reasons.steps.begin(), reasons.steps.end());
  return named;
}

// As a search would have left it that knows these claims alone.
Result with_only(const Result& result, const NamedClaims& claims) {
  Result some = result;
  std::erase_if(some.claims,
                [&, i = 0u](const Claim&) mutable { return !claims.contains(&result.claims[i++]); });
  mark(some);
  some.stopped = some.complete ? Stopped::No : Stopped::NotExpressible;
  EXPECT_EQ(space_faults(some), std::vector<Fault>{});
  return some;
}

// Of names for what proves a point.
std::string wrong_names(const Result& result, std::size_t point, const NamedClaims& named) {
  const auto proven_by = [&](const NamedClaims& claims) {
    return with_only(result, claims).points[point].proven;
  };
  if (!proven_by(named)) return "what is named is not enough";
  for (const Claim* claim : named) {
    NamedClaims fewer = named;
    fewer.erase(claim);
    if (proven_by(fewer)) return "a named claim can be left out";
  }
  return "";
}

// A claim that is not named, left out alone.
void expect_unneeded(const Result& result, std::size_t point, const NamedClaims& named) {
  NamedClaims all;
  for (const Claim& claim : result.claims) all.insert(&claim);
  for (const Claim& claim : result.claims) {
    if (named.contains(&claim)) continue;
    NamedClaims others = all;
    others.erase(&claim);
    EXPECT_TRUE(with_only(result, others).points[point].proven);
  }
}

// The two parts of "proven", of a point of the frontier: what is named for either carries it alone. Of the
// steps a point with one step less and the same rounds is asked.
void expect_parts(const Result& result, const Point& point, const Reasons& reasons) {
  const Rate rate = {.rounds = point.cost.rounds, .chunks = point.cost.chunks};
  const auto bound = [&](int steps, NamedClaims claims, const Claim* without) {
    claims.erase(without);
    Result some = result;
    std::erase_if(some.claims,
                  [&, i = 0u](const Claim&) mutable { return !claims.contains(&result.claims[i++]); });
    some.points = {point};
    some.points[0].cost.steps = steps;
    mark(some);
    return some.points[0].bound;
  };
  const int steps = point.cost.steps;
  EXPECT_FALSE(less(bound(steps, as_set(reasons.rounds), nullptr), rate));
  for (const Claim* claim : reasons.rounds)
    EXPECT_TRUE(less(bound(steps, as_set(reasons.rounds), claim), rate));
  if (steps == 0) return;
  EXPECT_TRUE(less(rate, bound(steps - 1, as_set(reasons.steps), nullptr)));
  for (const Claim* claim : reasons.steps)
    EXPECT_FALSE(less(rate, bound(steps - 1, as_set(reasons.steps), claim)));
}

// The words are of the certificates, and of no others.
void expect_words(const Reasons& reasons, const std::string& words) {
  const std::map<std::string, Certificate::Kind> kinds = {
      {"distance", Certificate::Kind::Distance},
      {"cuts in time", Certificate::Kind::Cuts},
      {"partition bound", Certificate::Kind::Partition},
      {"bound of trees", Certificate::Kind::Trees},
      {"bound of late entries", Certificate::Kind::Entries},
      {"growth bound", Certificate::Kind::Growth},
      {"refutation", Certificate::Kind::Refutation}};
  const std::size_t between = words.find("; steps: ");
  ASSERT_NE(between, std::string::npos) << words;
  for (const auto& [name, kind] : kinds) {
    const auto is_of_kind = [&](const Claim* claim) { return claim->certificate.kind == kind; };
    EXPECT_EQ(words.substr(0, between).find(name) != std::string::npos,
              std::ranges::any_of(reasons.rounds, is_of_kind))
        << words;
    EXPECT_EQ(words.find(name, between) != std::string::npos, std::ranges::any_of(reasons.steps, is_of_kind))
        << words;
  }
}

// Names that are wrong by one claim are seen to be.
void expect_seen(const Result& result, std::size_t point, const NamedClaims& named) {
  for (const Claim& claim : result.claims) {
    NamedClaims other = named;
    if (!other.insert(&claim).second) other.erase(&claim);
    EXPECT_NE(wrong_names(result, point, other), "");
  }
}

struct Tallied {
  int points = 0;
  std::map<Certificate::Kind, int> kinds = {};
};

void expect_named(const Result& result, Tallied& tally) {
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const Point& point = result.points[i];
    const Reasons why = reasons(result, point);
    if (!point.proven || point.cost.steps == 0) {
      EXPECT_TRUE(both(why).empty());
      continue;
    }
    const NamedClaims named = both(why);
    SCOPED_TRACE(explain(result, point));
    EXPECT_EQ(wrong_names(result, i, named), "");
    expect_unneeded(result, i, named);
    if (point.on_frontier) expect_parts(result, point, why);
    expect_words(why, explain(result, point));
    expect_seen(result, i, named);
    ++tally.points;
    for (const Claim* claim : named) ++tally.kinds[claim->certificate.kind];
  }
}

struct Searching {
  const char* maker;
  FrontierOptions (*options)(std::mt19937&);
  bool one_budget = false;  // synthesize
  unsigned cases = 40;
  std::vector<Certificate::Kind> kinds = {};  // that are named
};

Topology some_machine(std::mt19937& random) {
  return test::below(random, 4) == 0 ? test::two_boxes(random, 1)
                                     : test::random_machine(random, {.most_ranks = 5, .most_limits = 1});
}

// AllReduce more often than by chance: partitions and trees bound few others.
Collective some_collective(std::mt19937& random, int ranks) {
  if (test::below(random, 3) == 0) return make_collective("allreduce", ranks, 1);
  return with_chunks(test::random_collective(random, ranks, {.most_per_block = 1, .most_chunks = 3}), 1);
}

FrontierOptions of_chunks(std::mt19937& random, int least, int most) {
  FrontierOptions options{.min_chunks = least, .max_chunks = test::between(random, least, most)};
  options.synthesis.limits.conflicts = 300;
  return options;
}

using Kind = Certificate::Kind;
const Searching kSearches[] = {
    {"any chunks",
     [](std::mt19937&) {
       FrontierOptions options;
       options.synthesis.limits.conflicts = 100;
       return options;
     },
     false,
     20,
     {Kind::Distance, Kind::Weights, Kind::Cuts}},
    {"few chunks",
     [](auto& random) { return of_chunks(random, 1, 3); },
     false,
     60,
     {Kind::Distance, Kind::Weights, Kind::Refutation}},
    {"few steps and rounds",
     [](auto& random) {
       FrontierOptions options = of_chunks(random, test::between(random, 1, 2), 3);
       options.extra_rounds = test::between(random, 0, 2);
       if (test::below(random, 2) == 0) options.max_steps = test::between(random, 1, 4);
       return options;
     },
     false,
     60,
     {Kind::Distance}},
    {"without bounds",
     [](auto& random) {
       FrontierOptions options = of_chunks(random, 1, 2);
       options.synthesis.use_bounds = false;
       return options;
     },
     false,
     40,
     {Kind::Distance, Kind::Refutation}},
    {"one budget",
     [](auto& random) { return of_chunks(random, 1, 1); },
     true,
     80,
     {Kind::Distance, Kind::Weights}},
};

void PrintTo(const Searching& row, std::ostream* out) {
  *out << row.maker;
}

class ProvenBy : public ::testing::TestWithParam<Searching> {};

TEST_P(ProvenBy, NamesWhatIsNeeded) {
  const Searching& row = GetParam();
  Tallied tally;
  test::each_case(row.maker, row.cases, [&](std::mt19937& random, unsigned) {
    const Topology t = some_machine(random);
    const Collective c = some_collective(random, t.ranks);
    const FrontierOptions options = row.options(random);
    Result result;
    if (row.one_budget) {
      SynthesisQuestion asked{.chunks = test::between(random, 1, 4)};
      if (test::below(random, 2) == 0) asked.steps = test::between(random, 1, 5);
      if (test::below(random, 2) == 0) asked.rounds = test::between(random, 1, 9);
      result = search_synthesis(t, c, asked, options).result;
    } else {
      result = search_frontier(t, c, options);
    }
    expect_named(result, tally);
  });
  if (!test::counts()) return;
  EXPECT_GT(tally.points, static_cast<int>(row.cases) / 4);
  for (const Kind kind : row.kinds)
    EXPECT_GT(tally.kinds[kind], 0) << name_in(certificate_kinds(), kind) << " is not named";
}

INSTANTIATE_TEST_SUITE_P(Property, ProvenBy, ::testing::ValuesIn(kSearches), test::test_name<Searching>);

// Both printed "rounds: distance" for rates of any chunk count once.
TEST(ProvenBy, OfKnownMachines) {
  const struct {
    const char *machine, *collective;
    std::vector<std::string> words;
  } kKnown[] = {{"mesh:3x3", "allgather", {"rounds: cut or flow bound; steps: distance"}},
                {"full:4",
                 "allreduce",
                 {"rounds: cuts in time; steps: distance", "rounds: partition bound; steps: cuts in time"}}};
  for (const auto& [machine, collective, words] : kKnown) {
    const Topology t = named_topology(machine);
    const Result result = search_frontier(t, make_collective(collective, t.ranks, 1), {});
    std::vector<std::string> explained;
    for (const Point& point : result.points) explained.push_back(explain(result, point));
    EXPECT_EQ(explained, words) << machine;
    Tallied tally;
    expect_named(result, tally);
  }
}

}  // namespace
}  // namespace chorale
