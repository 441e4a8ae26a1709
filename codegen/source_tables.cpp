// Programs and promises as rows of integers. An emitted program that checks itself has the terms of each
// output slot from the promise and not from the program, so it cannot confirm what it does wrong.
#include "codegen/source_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <sstream>

#include "ir/shown.h"

namespace chorale {

// An array of no elements is no C++, hence the row of -1, which stands for no message, slot or rank.
std::string printed_table(const std::string& comment, const std::string& type, const std::string& name,
                          const NumberTable& contents, int columns) {
  std::string rows;
  for (const std::vector<int>& row : contents) rows += fmt::format("    {{{}}},\n", fmt::join(row, ", "));
  if (contents.empty()) rows = fmt::format("    {{{}}},\n", fmt::join(std::vector<int>(columns, -1), ", "));
  return fmt::format("// {}\nconstexpr {} {}[] = {{\n{}}};\n\n", comment, type, name, rows);
}

// Sums are numbered as they are first promised. The first slot with an input's data is its representative;
// only the other slots are listed.
std::string printed_promise(const Promise& promise, const std::string& suffix) {
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
  return printed_table("rank, output slot, sum", "chorale::PromisedOutput", "kPromised" + suffix, outputs,
                       3) +
         printed_table("sum: rank, input slot", "chorale::PromisedTerm", "kTerms" + suffix, terms, 3) +
         printed_table("rank, input slot has the same data as rank, input slot", "chorale::SameInput",
                       "kSame" + suffix, same, 4);
}

// Columns are the fields of ir/step_table.h in their order. Counts go along, since an empty table has a row.
std::string printed_steps(const StepRows& rows, const std::string& suffix) {
  NumberTable slots, messages, work;
  for (const std::array<int, 3>& each : rows.slots) slots.push_back({each.begin(), each.end()});
  for (const StepMessage& m : rows.messages)
    messages.push_back({m.step, m.from, m.from_buffer, m.from_slot, m.to, m.to_buffer, m.to_slot, m.block,
                        m.piece, m.borrows, m.lane});
  for (const StepWork& w : rows.work)
    work.push_back({w.rank, w.step, w.add, w.from_buffer, w.from_slot, w.to_buffer, w.to_slot, w.block,
                    w.piece, w.completes});
  return printed_table("By rank: slots of input, output, scratch. Buffers are 0, 1, 2 below.",
                       "std::array<int, 3>", "kSlots" + suffix, slots, 3) +
         printed_table(
             "step, from rank, buffer, slot, to rank, buffer, slot, block, piece, may be lent, lane",
             "chorale::StepMessage", "kMessages" + suffix, messages, 11) +
         printed_table(
             "After the step's messages: rank, step, add?, from buffer, slot, to buffer, slot, block, "
             "piece,\n"
             "// complete: 1 for the function, 2 stored too, 3 what it makes is stored",
             "chorale::StepWork", "kWork" + suffix, work, 10) +
         fmt::format(
             "// By rank: where its first output lies in the inputs.\n"
             "constexpr int kSlices{0}[] = {{{1}}};\n"
             "constexpr chorale::StepTables kTables{0} = {{{2}, {3}, {4}, kSlots{0}, kMessages{0}, {5}, "
             "kWork{0}, {6}, kSlices{0}, {7}, {8}{9}}};\n\n",
             suffix, fmt::join(rows.slices, ", "), rows.slots.size(), rows.steps, rows.pieces,
             messages.size(), work.size(), rows.own_input, rows.own_output, rows.adds_once ? ", true" : "");
}

namespace {

// The failures that a file is ready for, after its forms. Each names the first of its forms, the numbers that
// ranks have then, and the rank that is gone.
std::string printed_failures(std::span<const AfterFailure> failures) {
  std::string numbers, rows;
  for (std::size_t i = 0; i < failures.size(); ++i) {
    const auto& [failure, first, ranks, lost] = failures[i];
    const std::string name = ranks.empty() ? "nullptr" : fmt::format("kNumbers_{}", i);
    if (!ranks.empty())
      numbers += fmt::format("constexpr int {}[] = {{{}}};\n", name, fmt::join(ranks, ", "));
    rows += fmt::format("    {{\"{}\", kForms + {}, {}, {}}},\n", printable_name(failure), first, name, lost);
  }
  return numbers + "constexpr chorale::Failure kFailures[] = {\n" + rows + "};\n\n";
}

}  // namespace

// Programs of one collective on as many ranks, with as many pieces, promise the same: the check of the first
// is that of all. Which algorithm runs is chosen by tables alone, so a file has the code of one.
std::string printed_forms(std::span<const SizedProgram> programs, std::span<const AfterFailure> failures,
                          Wire wire) {
  std::string tables, rows;
  std::map<std::pair<int, int>, std::string>
      promises;  // by ranks and chunks of a block: their tables' suffix
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto& [program, up_to, serialized, asked] = programs[i];
    const Collective& collective = asked ? *asked : program.collective();
    const std::string suffix = programs.size() == 1 ? "" : "_" + std::to_string(i);
    tables += printed_steps(step_rows(program), suffix);
    const auto [promise, is_new] =
        promises.try_emplace({collective.ranks, program->chunks_per_block}, suffix);
    if (is_new)
      tables += printed_promise(Promise(collective), suffix) +
                fmt::format(
                    "chorale::SelfCheck check{0}() {{\n"
                    "  return chorale::SelfCheck({1}, kPromised{0}, kTerms{0}, kSame{0}{2});\n}}\n\n",
                    suffix, collective.ranks, wire == Wire::Float32 ? "" : ", chorale::Numbers::Travel");
    rows += fmt::format("    {{{}, \"{}\", kTables{}, {}, check{}}},\n",
                        std::isfinite(up_to) ? fmt::format("{}", up_to) : "HUGE_VAL",
                        printable_name(program->name), suffix, serialized, promise->second);
  }
  // A file that is ready for no failure has the one row of the forms without any.
  const AfterFailure none;
  return tables + "constexpr chorale::Form kForms[] = {\n" + rows + "};\n" +
         printed_failures(failures.empty() ? std::span(&none, 1) : failures);
}

std::string printed_type(Wire wire) {
  constexpr const char* kTypes[] = {"float",      "Float16", "Bfloat16", "Float8E4m3",
                                    "Float8E5m2", "MxInt8",  "MxFp8"};
  return (wire == Wire::Float32 ? "" : "chorale::") + std::string(kTypes[static_cast<int>(wire)]);
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

// Names stand in comments and string literals: what could end either is a blank.
std::string printable_name(const std::string& text) {
  std::string name;
  for (char c : shown(text)) name += c == '"' || c == '\\' ? ' ' : c;
  return name;
}

std::string identifier(const std::string& name) {
  return "of_" + name;
}

}  // namespace chorale
