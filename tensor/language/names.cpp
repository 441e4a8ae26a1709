#include "tensor/language/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace chorale {

// Types, layouts, statements, operations and functions of elements: a name among them would read
// differently in some place of the grammar. Words that stand in one place only ("state", "flat", "stride")
// are free.
std::span<const std::string_view> reserved_words() {
  static constexpr std::string_view kWords[] = {
      "workload",    "ranks",      "groups",        "size",        "op",          "Tensor",       "Scalar",
      "kernel",      "overlap",    "return",        "fp64",        "fp32",        "fp16",         "bf16",
      "int32",       "Replicated", "Local",         "Sliced",      "Rooted",      "RANK",         "GROUP",
      "WORLD",       "AllReduce",  "ReduceScatter", "AllGather",   "Reduce",      "AllToAll",     "Broadcast",
      "Send",        "Slice",      "MatMul",        "Norm",        "Convolution", "ReduceTensor", "Update",
      "Cast",        "Dropout",    "Random",        "Select",      "Min",         "Max",          "Sqrt",
      "Exp",         "Log",        "Tanh",          "ReLU",        "Abs",         "Pow",          "Index",
      "ReduceAlong", "Mean",       "Softmax",       "RMSNorm",     "LayerNorm",   "Transpose",    "Reshape",
      "Narrow",      "Concat",     "GatherRows",    "ScatterRows", "AllToAllV",   "e4m3",         "e5m2",
      "EACH",        "ACROSS",     "ScanAlong",     "TopK",        "TakeAlong",   "loop",         "RANKS",
      "Expand",      "PutRows"};
  return kWords;
}

bool is_reserved(std::string_view word) {
  return std::ranges::find(reserved_words(), word) != reserved_words().end();
}

std::string name_flaw(std::string_view name) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  if (name.empty()) return "is empty";
  if (name.size() > kLongestName) return fmt::format("has more than {} characters", kLongestName);
  if (!std::ranges::all_of(name, fits) || std::isdigit(static_cast<unsigned char>(name[0])))
    return "is not of letters, digits and _, with no digit first";
  if (is_reserved(name)) return "is a word of the language";
  return "";
}

}  // namespace chorale
