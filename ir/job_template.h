// A job whose axes have no sizes yet: what a device keeps, computes and communicates, as formulas over the
// sizes. "16 * parameters / (tensor * pipeline)". Placement chooses the sizes (placement/place.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/expression.h"
#include "ir/placement.h"

namespace chorale {

// A formula (ir/epilogue.h has the grammar) over sizes of axes, and numbers that the template has defined
// before it.
struct Quantity {
  std::string text = {};
  Expression expression = {};
  bool operator==(const Quantity&) const = default;
};

struct OpenAxis {
  std::string name = {};
  int size = 0;        // 0: to be chosen
  int most = 1 << 20;  // not larger than this
  bool operator==(const OpenAxis&) const = default;
};

struct NamedQuantity {
  std::string name = {};
  Quantity value = {};
  bool operator==(const NamedQuantity&) const = default;
};

struct OpenReduction {
  Reduction reduction = {};  // without bytes and times, which are
  Quantity bytes = {};
  Quantity times = {};
  bool operator==(const OpenReduction&) const = default;
};

struct JobTemplate {
  std::string name = {};
  std::vector<OpenAxis> axes = {};
  std::vector<NamedQuantity> numbers = {};
  std::vector<Quantity> whole = {};    // what has to be an integer: "layers / pipeline"
  std::vector<Quantity> require = {};  // what may not be 0: "tensor <= heads"
  Quantity memory_bytes = {};          // that a device keeps; no formula: nothing
  double room_bytes = 0;               // that it has for it; 0: no limit
  Quantity compute_us = {};            // of an iteration; no formula: the same for all sizes
  std::vector<OpenReduction> reductions = {};
  bool operator==(const JobTemplate&) const = default;
};

// Is this text meant as one? It is if "job_template", in quotes, occurs anywhere in it.
bool is_job_template(std::string_view text);

// Text form: docs/formats.md. Throws InputError that names the place.
JobTemplate job_template_from_json(std::string_view text, const std::string& file);

struct SizedJob {
  Job job = {};  // without what has nothing to do: no bytes, no times, or axes of size 1 only
  double memory_bytes = 0;
  double compute_us = 0;
  // Which of its conditions these sizes do not obey, with numbers: "layers / pipeline is 5.5, not whole";
  // none: it may be run.
  std::string unfit = {};
};

// Requires a size for each axis. Throws InputError where a formula has no value (a division by 0) or a
// negative one.
SizedJob sized(const JobTemplate&, const std::vector<int>& sizes);

}  // namespace chorale
