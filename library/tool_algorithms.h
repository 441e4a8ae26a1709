// The algorithms of other programs for a collective, by the names and numbers that their settings have.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ir/collective_kind.h"
#include "ir/named.h"

namespace chorale {

// Ompi: Open MPI's component tuned (4.1 to 6). Mpich: MPICH's MPIR layer (4.0). Ucc: UCC's tl/ucp.
enum class Tool { Ompi, Mpich, Ucc };
std::span<const Named<Tool>> tools();  // "ompi", "mpich", "ucc"
std::optional<Tool> tool_named(std::string_view);

struct ToolAlgorithm {
  Tool tool = Tool::Ompi;
  CollectiveKind kind = CollectiveKind::Custom;
  int number = 0;  // of its setting; 0 where it goes by name
  std::string_view name = {};
  // The baseline of the same shape (construct/classic.h), which predicts its time; "": none is known.
  std::string_view baseline = {};
  bool is_for_powers_of_two = false;  // of ranks
};

std::span<const ToolAlgorithm> tool_algorithms();
const ToolAlgorithm* find_algorithm(Tool, CollectiveKind, std::string_view name);  // null: not known
bool suits(const ToolAlgorithm&, int ranks);

}  // namespace chorale
