// Bold arrows are a block's own order, dashed ones dependencies, blue ones messages: the k-th that is sent on
// a connection is the k-th that is received. Messages do not affect the layout (constraint=false). Ends
// without a partner, of a program that is wrong, have no arrow.
#include "codegen/dot.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <vector>

namespace chorale {

std::string to_dot(const BlockProgram& program) {
  std::string text =
      "digraph program {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\", fontsize=10];\n";
  std::map<std::tuple<Rank, Rank, int>, std::vector<std::string>> sent, received;
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) {
    text += fmt::format("  subgraph cluster_{} {{\n    label=\"rank {}\";\n", n, n);
    std::string edges;
    // Blocks of a rank that meet at a barrier are joined in the order in which they are listed.
    std::map<int, std::string> barriers;  // the last node of each
    for (std::size_t b = 0; b < program.ranks[n].blocks.size(); ++b) {
      const Block& block = program.ranks[n].blocks[b];
      for (std::size_t i = 0; i < block.instructions.size(); ++i) {
        const BlockInstruction& instruction = block.instructions[i];
        const std::string node = fmt::format("r{}_b{}_{}", n, b, i);
        const bool special = instruction.barrier >= 0 || applies(instruction.does);
        text += fmt::format("    {} [label=\"{}.{} {}\"{}];\n", node, b, i, to_string(instruction),
                            special ? ", style=filled" : "");
        if (instruction.barrier >= 0) {
          // A line through all that meet there.
          if (const auto met = barriers.find(instruction.barrier); met != barriers.end())
            edges += fmt::format("    {} -> {} [dir=none, style=dotted];\n", met->second, node);
          barriers[instruction.barrier] = node;
        }
        if (i > 0) edges += fmt::format("    r{}_b{}_{} -> {} [style=bold];\n", n, b, i - 1, node);
        for (const BlockReference& before : instruction.after)
          edges += fmt::format("    r{}_b{}_{} -> {} [style=dashed];\n", n, before.block, before.instruction,
                               node);
        if (instruction.does.sends) sent[{n, block.send_to, block.channel}].push_back(node);
        if (instruction.does.takes) received[{block.recv_from, n, block.channel}].push_back(node);
      }
    }
    text += edges + "  }\n";
  }
  // A queue keeps the order: the k-th send of a connection is what its k-th receive takes.
  for (const auto& [connection, from] : sent) {
    const std::vector<std::string>& to = received[connection];
    for (std::size_t k = 0; k < from.size() && k < to.size(); ++k)
      text += fmt::format("  {} -> {} [color=blue, constraint=false];\n", from[k], to[k]);
  }
  return text + "}\n";
}

}  // namespace chorale
