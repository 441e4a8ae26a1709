// A function on every element of a complete sum: an expression over the element, tensors beside the data, and
// the element's index. "Select(mask < 1, 0, (x + bias) * scale)". The operations of a program that complete
// sums apply it (ir/data_operation.h), before the result is stored or sent.
//
// It is computed in float32 for float32 and 16-bit floats, and in float64 for all other types, operation by
// operation, and rounded once, to the type in which values are kept (runtime/device/epilogue.h). Averages are
// divided before it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/elements.h"
#include "ir/expression.h"

namespace chorale {

// How a tensor lies. Replicated: each rank has all of it. Sliced: each rank has the part that its outputs
// have, so a sum has to be completed where it is wanted.
enum class OperandLayout { Replicated, Sliced };

struct EpilogueOperand {
  std::string name = {};
  ElementType type = ElementType::Float32;
  OperandLayout layout = OperandLayout::Replicated;
  std::int64_t period = 0;  // elements, which repeat; 0: as many as the inputs have (sliced: the outputs)
  bool operator==(const EpilogueOperand&) const = default;
};

struct Epilogue {
  Expression expression = {};  // empty: a function that the caller gives to the executor
  std::vector<EpilogueOperand> operands = {};
  bool operator==(const Epilogue&) const = default;
};

inline constexpr int kMostOperands = 16;

// Returns what keeps an epilogue from being one: an operator that finds too few values, an operand that is
// not there, a limit. Empty if nothing does.
std::string flaw(const Epilogue&);

bool has_sliced_operand(const Epilogue&);

// Is it a name that an operand may have? Of letters, digits and _, without another meaning.
bool is_operand_name(const std::string&);

// Reads one from text, in the grammar of workloads (ir/expression_text.h): numbers, x, index, names of
// operands, operators, functions. Older spellings are read, too ("max(x, 0)", "float16(x)"). Throws
// InputError that names `where`, line and column.
Expression parse_expression(std::string_view text, const std::vector<EpilogueOperand>&,
                            const std::string& where);
std::string to_string(const Expression&, const std::vector<EpilogueOperand>&);

// Text form: docs/formats.md.
std::string to_json(const Epilogue&);
Epilogue epilogue_from_json(std::string_view text, const std::string& file);

}  // namespace chorale
