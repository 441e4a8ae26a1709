// The contents of a library in the formats of other programs: files as texts, nothing is written. All that
// leaves here has passed the verifier of its form.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/named.h"
#include "ir/sum_order.h"
#include "library/verified_answer.h"

namespace chorale {

// Mscclpp, MscclXml: for each collective the schedules that are the fastest at some size, each with the sizes
// of messages (of the larger
//   buffer of a rank) for which it is; those of MSCCL++ in place and not. What the target cannot express is
//   left out, and the next best takes its sizes.
// Preload: the answers themselves, files for CHORALE_ALGORITHMS. Mpi, Nccl: of each collective one program
// that chooses by size, and by what has failed of the machine where the library has answers after failures.
// Times: what the library's algorithms and baselines should take at each size, and what was measured, as JSON
// (docs/formats.md), of which files for other programs are made (python/chorale/tuning_files.py).
// PipelinedTimes: also of trees with more chunks than the fewest.
enum class ExportForm { Mscclpp, MscclXml, Preload, Mpi, Nccl, Times, PipelinedTimes };
std::span<const Named<ExportForm>> export_forms();

struct ExportQuestion {
  AnswerPlace place = {.group = "all"};       // without its collective; several groups: "node,all"
  std::vector<std::string> collectives = {};  // at least one
  std::vector<std::int64_t> bytes = {};       // of messages, rising: where choices are made
  std::optional<SumOrder::Kind> order = {};   // of sums: of all answers, those in that order
  ExportForm form = ExportForm::Mscclpp;
};

struct Exported {
  std::vector<NamedText> files = {};
  std::vector<std::string> notes = {};  // what is left out, and why
  int unchecked = 0;                    // refutations that were left out (library/verified_answer.h)
};

// A schedule as a file of a form, or why that cannot be.
struct Printed {
  std::vector<NamedText> files = {};
  std::string note = {};     // what is lost
  std::string why_not = {};  // "": it can be
};
struct PrintOptions {
  std::string name = {};  // of the file, without its ending
  bool in_place = false;
  std::int64_t min_bytes = 0, max_bytes = 0;  // of messages that it is for; 0: however large
};

// Points by rising sizes, for the machine or for it after some failures.
struct ReadyPoints {
  struct Sized {
    const Point* point = nullptr;
    double up_to = 0;  // bytes of a block; of the last: HUGE_VAL
  };
  // What has failed ("link 0-1"; "": nothing), and what the ranks of the points are called
  // then; empty: as they are.
  struct After {
    std::string failure = {};
    std::vector<Rank> ranks = {};
  };
  const Topology* topology = nullptr;
  std::vector<Sized> points = {};
  std::vector<After> after = {};
};

// What lowers schedules and knows baseline algorithms, which a library does not (api/library.cpp).
struct Printers {
  std::function<Printed(const Topology&, const Point&, ExportForm, const PrintOptions&)> print = {};
  // Of one collective; the first are for the whole machine.
  std::function<Printed(const std::vector<ReadyPoints>&, ExportForm, const std::string& name)> program = {};
  // Baseline algorithms of a kind, and one of them with `chunks` chunks; 0: the fewest. Nullopt: the machine
  // lacks the links for it.
  std::function<std::vector<std::string>(CollectiveKind)> classics = {};
  std::function<std::optional<Result>(const Topology&, const std::string& name, int chunks)> classic = {};
  // The first words of the names of files.
  std::function<std::string(const Topology&, const Collective&)> stem = {};
};

// `name` is what errors call the file. Throws InputError if there is nothing to be written.
Exported exported(AnswerFile&, const std::string& name, const ExportQuestion&, const AnswerVerifier&,
                  const Printers&);

}  // namespace chorale
