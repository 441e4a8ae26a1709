// Tables of numbers in emitted sources: what a program does, and what its collective promises.
#pragma once

#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ir/elements.h"
#include "ir/program.h"
#include "ir/promise.h"
#include "ir/step_rows.h"
#include "ir/verified.h"

namespace chorale {

// Programs of one collective, of which an emitted file chooses by the size of a block.

struct SizedProgram {
  Verified<Program> program;
  double up_to = HUGE_VAL;  // bytes of a block: the first program that reaches them is taken
  bool serialized = false;  // over MPI: its messages that share a port go one after the other
  // What its ranks check, where they are renumbered (AfterFailure); else what the program promises.
  std::optional<Collective> asked = {};
};

// Which of the programs are for the machine after a failure.
struct AfterFailure {
  std::string failure = {};      // "link 0-1"; "": nothing has failed
  int first = 0;                 // of the programs: those from this to the next one that is for all sizes
  std::vector<Rank> ranks = {};  // what their ranks are called; empty: as they are
  int lost = -1;  // the rank that has failed; the others are numbered in their order. -1: none has
};

using NumberTable = std::vector<std::vector<int>>;

// Of a program: kSlots, kMessages, kWork and kSlices, and kTables of them, with `suffix` after their names.
std::string printed_steps(const StepRows&, const std::string& suffix = "");

// "// COMMENT\nconstexpr TYPE NAME[] = {...};\n\n"; never empty, so that it is an array: of no rows it has
// one of -1. `columns` is its width.
std::string printed_table(const std::string& comment, const std::string& type, const std::string& name,
                          const NumberTable&, int columns);

// kPromised, kTerms and kSame, as runtime/device/self_check.h takes them, with `suffix` after their names.
std::string printed_promise(const Promise&, const std::string& suffix = "");

// Of each program the steps and, where its chunks are not those of one before, the promise; then kForms, one
// row per program, and kFailures, one per failure, from which a file chooses by size and by what has failed
// (codegen/mpi/tables.h has an example). No failures: all programs are for the whole machine.
std::string printed_forms(std::span<const SizedProgram>, std::span<const AfterFailure>, Wire);

// "chorale::Bfloat16".
std::string printed_type(Wire);

// ir/pieces.h, ir/step_table.h, ir/message_plan.h, and of runtime/device own_steps.h, self_check.h,
// failure_file.h, forms.h, elements.h and wire.h (made by CMake).
std::string steps_source();

// A text of ours without includes of ours; its other includes are taken out and collected.
std::string without_includes(const std::string& text, std::set<std::string>& includes);

// A program's name, fit for a comment and for a string.
std::string printable_name(const std::string&);

// A name of the user as an identifier of C++: of_NAME. A prefix, since no list has all macros of the headers
// that emitted programs include (errno, EOF, M_PI), nor the keywords to come, and a suffix is what guards of
// headers have (NCCL_H_).
std::string identifier(const std::string& name);

}  // namespace chorale
