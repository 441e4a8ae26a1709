// Programs and promises as rows of integers. An emitted program that checks itself has the terms of each
// output slot from the promise and not from the program, so it cannot confirm what it does wrong.
#include "codegen/source_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <sstream>

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
    work.push_back({row.rank, row.step, row.add, row.from_buffer, row.from_slot, row.to_buffer, row.to_slot,
                    row.piece, row.position});
  return work;
}

NumberTable message_table(const Program& program) {
  NumberTable messages;
  for (const MessageEnds& m : messages_of(program))
    messages.push_back({m.step, m.from, static_cast<int>(m.src.buffer), m.src.index, m.to,
                        static_cast<int>(m.dst.buffer), m.dst.index, m.piece});
  return messages;
}

std::string printed_table(const std::string& comment, const std::string& type, const std::string& name,
                          const NumberTable& contents, int columns) {
  std::string rows;
  for (const std::vector<int>& row : contents) rows += fmt::format("    {{{}}},\n", fmt::join(row, ", "));
  if (contents.empty()) rows = fmt::format("    {{{}}},\n", fmt::join(std::vector<int>(columns, -1), ", "));
  return fmt::format("// {}\nconstexpr {} {}[] = {{\n{}}};\n\n", comment, type, name, rows);
}

// Sums are numbered as they are first promised. The first slot with an input's data is its representative;
// only the other slots are listed.
std::string printed_promise(const Promise& promise) {
  NumberTable outputs, terms, same;
  std::map<std::vector<Promise::Input>, int> sums;
  for (Rank n = 0; n < promise.ranks(); ++n) {
    for (const auto& [slot, chunks] : promise.outputs(n)) {
      const auto [sum, is_new] = sums.emplace(promise.terms(chunks), static_cast<int>(sums.size()));
      outputs.push_back({n, slot, sum->second});
      for (const Promise::Input& input : is_new ? sum->first : std::vector<Promise::Input>())
        terms.push_back({sum->second, input.rank, input.slot});
    }
    for (int slot = 0; slot < promise.inputs(n); ++slot)
      if (const Promise::Input first = promise.input_at(promise.place(n, slot));
          first != Promise::Input{.rank = n, .slot = slot})
        same.push_back({n, slot, first.rank, first.slot});
  }
  return printed_table("rank, output slot, sum", "chorale::PromisedOutput", "kPromised", outputs, 3) +
         printed_table("sum: rank, input slot", "chorale::PromisedTerm", "kTerms", terms, 3) +
         printed_table("rank, input slot has the same data as rank, input slot", "chorale::SameInput",
                       "kSame", same, 4);
}

std::string printed_slices(const Program& program) {
  std::vector<int> slices;
  for (const RankProgram& rank : program.ranks) slices.push_back(rank.slice);
  return fmt::format(
      "// By rank: where its first output lies in the inputs.\nconstexpr int kSlices[] = {{{}}};\n\n",
      fmt::join(slices, ", "));
}

// CUDA's headers of 16-bit floats stay where they are: behind an #ifdef, since hosts without CUDA compile the
// same text.
std::string without_includes(const std::string& text, std::set<std::string>& includes) {
  std::istringstream lines(text);
  std::string result;
  bool empty = true;  // the last line was
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#include <") && line.find("cuda_fp16") == line.npos &&
        line.find("cuda_bf16") == line.npos) {
      includes.insert(line);
      continue;
    }
    if (line.starts_with("#include \"") || line == "#pragma once" || (empty && line.empty())) continue;
    empty = line.empty();
    result += line + "\n";
  }
  return result;
}

std::string printable_name(const std::string& text) {
  std::string name;
  for (char c : shown(text)) name += c == '"' || c == '\\' ? ' ' : c;
  return name;
}

}  // namespace chorale
