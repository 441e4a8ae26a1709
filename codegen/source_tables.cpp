#include "codegen/source_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/shown.h"
#include "ir/step_rows.h"

namespace chorale {

NumberTable sizes_table(const Program& program) {
  NumberTable sizes;
  for (const RankProgram& rank : program.ranks)
    sizes.push_back({rank.input_chunks, rank.output_chunks, rank.scratch_chunks});
  return sizes;
}

NumberTable work_table(const Program& program) {
  NumberTable work;
  for (const StepRow& row : step_rows(program))
    work.push_back(
        {row.rank, row.step, row.add, row.from_buffer, row.from_slot, row.to_buffer, row.to_slot, row.piece});
  return work;
}

NumberTable message_table(const Program& program) {
  NumberTable messages;
  for (const MessageEnds& m : messages_of(program))
    messages.push_back({m.step, m.from, static_cast<int>(m.src.buffer), m.src.index, m.to,
                        static_cast<int>(m.dst.buffer), m.dst.index, m.piece});
  return messages;
}

NumberTable promise_table(const Collective& collective, const Program& program) {
  NumberTable promised;
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n)
    for (int o = 0; o < program.ranks[n].output_chunks; ++o)
      for (const ChunkSpec& spec : collective.chunks)
        if (spec.output == o && std::binary_search(spec.post.begin(), spec.post.end(), n))
          for (std::size_t k = 0; k < (collective.combining ? spec.pre.size() : 1); ++k)
            promised.push_back({n, o, spec.pre[k], spec.input});
  return promised;
}

NumberTable same_table(const Collective& collective) {
  NumberTable same;
  if (!collective.combining)
    for (const ChunkSpec& spec : collective.chunks)
      for (std::size_t k = 1; k < spec.pre.size(); ++k)
        same.push_back({spec.pre[k], spec.input, spec.pre.front(), spec.input});
  return same;
}

std::string printed_table(const std::string& comment, const std::string& type, const std::string& name,
                          const NumberTable& contents, int columns) {
  std::string rows;
  for (const std::vector<int>& row : contents) rows += fmt::format("    {{{}}},\n", fmt::join(row, ", "));
  if (contents.empty()) rows = fmt::format("    {{{}}},\n", fmt::join(std::vector<int>(columns, -1), ", "));
  return fmt::format("// {}\nconstexpr {} {}[] = {{\n{}}};\n\n", comment, type, name, rows);
}

std::string printable_name(const std::string& text) {
  std::string name;
  for (char c : shown(text)) name += c == '"' || c == '\\' ? ' ' : c;
  return name;
}

}  // namespace chorale
