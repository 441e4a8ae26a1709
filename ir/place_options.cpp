// Options of 'place' that have rows; its conditions, which name axes and levels, are texts of their own.
#include "ir/place_options.h"

namespace chorale {
namespace {

// Words of files of rankings, too (ir/json_placement.cpp): a word that changes makes older files unreadable.
constexpr Named<Algorithm> kAlgorithms[] = {
    {Algorithm::Ring, "ring"}, {Algorithm::Tree, "tree"}, {Algorithm::Auto, "auto"}};
constexpr Named<PlaceEngine> kEngines[] = {
    {PlaceEngine::Enumerate, "enumerate"}, {PlaceEngine::Sat, "sat"}, {PlaceEngine::Smt, "smt"}};
constexpr Named<Rules> kStrategyRules[] = {{Rules::Paper, "paper"}, {Rules::Full, "full"}};

}  // namespace

std::span<const Named<PlaceEngine>> place_engines() {
  return kEngines;
}

std::span<const Named<Algorithm>> algorithms() {
  return kAlgorithms;
}

std::span<const Named<Rules>> strategy_rules() {
  return kStrategyRules;
}

// Choices are tables of names, so that files, help and Python have the same words; "reduction" is
// SynthesisKind::Collapsed, since ReductionAxes cannot be asked for.
std::span<const OptionRow<PlaceOptions>> place_rows() {
  using O = PlaceOptions;
  static constexpr auto kAlgorithmChoices = choices_of(kAlgorithms);
  static constexpr auto kRuleChoices = choices_of(kStrategyRules);
  static constexpr auto kHierarchyChoices = choices_of(kSynthesisChoices);
  static constexpr auto kEngineChoices = choices_of(kEngines);
  static constexpr OptionRow<O> kRows[] = {
      {{.name = "algorithm",
        .option = "--algo",
        .help = "How an AllReduce is done; auto: the faster one ({})",
        .kind = OptionKind::Choice,
        .choices = kAlgorithmChoices},
       member<O, &O::algorithm>()},
      {{.name = "rules",
        .option = "--rules",
        .help = "paper: strategies without detours, as Xie et al. count them; full: all valid ({})",
        .kind = OptionKind::Choice,
        .choices = kRuleChoices},
       member<O, &O::rules>()},
      {{.name = "synthesis",
        .option = "--synthesis",
        .help = "Over which hierarchy strategies are written: the machine's levels, all factors by columns "
                "or by rows of the matrix, those of the reduction axes alone ({})",
        .kind = OptionKind::Choice,
        .choices = kHierarchyChoices},
       member<O, &O::synthesis>()},
      {{"top", "--top", "N", "Matrices to list ({})", OptionKind::Integer, 1, 1'000'000},
       member<O, &O::top>()},
      {{"strategies", "--strategies", "N", "Strategies to list for each ({})", OptionKind::Integer, 1,
        10'000},
       member<O, &O::strategies>()},
      {{"given_order", "--given-order", "",
        "Inside of a level axes vary in the order of --axes only, the first slowest", OptionKind::Switch},
       member<O, &O::given_order>()},
      {{.name = "engine",
        .option = "--engine",
        .help = "What lists matrices and strategies: enumeration, formulas in CaDiCaL, or bit vectors in Z3 "
                "({}); a solver has strategies of at most 5 instructions",
        .kind = OptionKind::Choice,
        .choices = kEngineChoices},
       member<O, &O::engine>()},
      {{.name = "solver",
        .option = "--solver",
        .help = "The SAT solver of --engine sat ({})",
        .kind = OptionKind::Choice,
        .choices = kSolverChoices},
       member<O, &O::solver>()},
      {{.name = "ipasir",
        .option = "--ipasir",
        .value = "FILE",
        .help = "The shared library of --solver ipasir",
        .kind = OptionKind::Text},
       member<O, &O::ipasir>()},
  };
  return kRows;
}

}  // namespace chorale
