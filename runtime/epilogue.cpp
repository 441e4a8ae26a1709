// A function after sums, in two implementations: executors run it as a stack of operations over tensors in
// memory; the check evaluates it as the verifier does (ir/expression_value.h), with each tensor as a function
// of the index. Test numbers are functions of operand and index (runtime/device/test_tensors.h), so it needs
// no tensors. Both share only the data type of the function, the type of the computation and its final
// rounding.
#include "runtime/epilogue.h"

#include "ir/expression_value.h"
#include "runtime/device/element_types.h"
#include "runtime/device/test_tensors.h"

namespace chorale {
namespace {

// The value of the expression without tensors: what an operand has at an index is a function of both.
template <typename R>
R reference_of(const Epilogue& epilogue, R element, std::int64_t index) {
  return value_of<R>(
      epilogue.expression,
      [&](const ExpressionNode& node) -> R {
        using Op = ExpressionOperator;
        const std::int64_t period = node.op == Op::Operand ? epilogue.operands[node.operand].period : 0;
        return node.op == Op::Constant  ? static_cast<R>(node.constant)
               : node.op == Op::Element ? element
               : node.op == Op::Index   ? static_cast<R>(index)
               : node.op == Op::Random
                   ? random_at<R>(0, static_cast<std::uint32_t>(node.constant), index)
                   : static_cast<R>(test_number(node.operand, period > 0 ? index % period : index));
      },
      [](ElementType type, R value) {
        return with_type(type, [&](auto zero) { return real<R>(rounded_to<decltype(zero)>(value)); });
      });
}

}  // namespace

// A process that is one rank fills that rank's tensors only; those of others are there and empty, so that
// indices of addresses stay the same.
void EpilogueRun::fill(Rank only) {
  if (epilogue_.expression.empty()) return;
  for (const EpilogueOperand& operand : epilogue_.operands)
    operands_.push_back({operand.type, operand.layout == OperandLayout::Sliced, operand.period});
  for (Rank n = 0; n < static_cast<int>(ranks_.size()); ++n)
    for (int k = 0; k < static_cast<int>(operands_.size()); ++k) {
      const OperandRow& row = operands_[k];
      const std::int64_t count = row.sliced ? ranks_[n].outputs : row.period > 0 ? row.period : whole_;
      tensors_.emplace_back();
      if (only < 0 || only == n)
        tensors_.back() = with_type(row.type, [&](auto zero) {
          return test_tensor<decltype(zero)>(k, row.sliced ? ranks_[n].slice : 0, count);
        });
    }
  for (const std::vector<char>& tensor : tensors_) addresses_.push_back(tensor.data());
}

// What this and reference() return refers to this object, which has to outlive them.
EpilogueFunction EpilogueRun::function() const {
  if (expression().empty()) return {};
  return [this](ElementType type, std::byte* bytes, std::int64_t count, std::int64_t first_index, Rank n) {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      T* const values = reinterpret_cast<T*>(bytes);
      const RankTensors tensors{addresses_.data() + n * operands_.size(), ranks_[n].slice};
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = applied(stack_function(), values[i], first_index + i, tensors);
    });
  };
}

EpilogueFunction EpilogueRun::reference() const {
  if (expression().empty()) return {};
  return [this](ElementType type, std::byte* bytes, std::int64_t count, std::int64_t first_index, Rank) {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      T* const values = reinterpret_cast<T*>(bytes);
      for (std::int64_t i = 0; i < count; ++i)
        values[i] = rounded_to<T>(reference_of(epilogue_, real<Real<T>>(values[i]), first_index + i));
    });
  };
}

}  // namespace chorale
