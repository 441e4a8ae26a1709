// A formula in conjunctive normal form, DIMACS conventions: variables 1..variables, a literal is a variable
// or its negative.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

namespace chorale {

using Lit = int;

struct Formula {
  int variables = 0;
  std::vector<Lit> literals = {};  // clause after clause, each closed by 0
  std::int64_t clauses = 0;

  Lit fresh() { return ++variables; }
  void add(std::span<const Lit> clause);
  void add(std::initializer_list<Lit> clause) { add(std::span<const Lit>(clause.begin(), clause.size())); }
  bool operator==(const Formula&) const = default;
};

using Assignment = std::vector<bool>;  // by variable; entry 0 is unused

std::string to_dimacs(const Formula&);

}  // namespace chorale
