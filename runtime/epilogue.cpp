// A function after sums, done and judged in two ways: executors go through it as a stack of operations over
// tensors in memory, the judge goes down the expression from its end and asks what a tensor would have at an
// index. Test numbers are functions of operand and index (runtime/device/test_tensors.h), so it needs no tensors.
// What both share is the noun, and in which type is computed and how it is rounded in the end.
#include "runtime/epilogue.h"

#include "ir/expression_value.h"
#include "runtime/device/test_tensors.h"
#include "runtime/element_types.h"

namespace chorale {
namespace {

static_assert(StackFunction::kDeepest == kDeepestExpression);

// By the meaning of each node, from the last one back: the value of the expression that ends at node `at`, which is
// then the end of the one before it. No stack, no tensors.
template <typename R>
struct Judge {
  const Epilogue& epilogue;
  R element;
  std::int64_t index;

  R value(int& at) const {
    using Op = ExpressionOperator;
    const ExpressionNode& node = epilogue.expression[at--];
    R values[3] = {};
    for (int k = arity(node.op) - 1; k >= 0; --k) values[k] = value(at);
    const auto [a, b, c] = values;
    switch (node.op) {
      case Op::Constant:
        return static_cast<R>(node.constant);
      case Op::Element:
        return element;
      case Op::Index:
        return static_cast<R>(index);
      case Op::Operand:
        return static_cast<R>(test_number(node.operand, index_in(node.operand)));
      case Op::Random:
        return random_at<R>(0, static_cast<std::uint32_t>(node.constant), index);
      case Op::Convert:
        return with_type(static_cast<ElementType>(node.operand),
                         [&](auto zero) { return real<R>(rounded_to<decltype(zero)>(a)); });
      default:
        return value_of(node.op, a, b, c);
    }
  }

  std::int64_t index_in(int operand) const {
    const std::int64_t period = epilogue.operands[operand].period;
    return period > 0 ? index % period : index;
  }
};

}  // namespace

// A process that is one rank fills that rank's tensors only; those of others are there and empty, so that
// addresses keep their places.
void EpilogueRun::fill(Rank only) {
  if (epilogue_.expression.empty()) return;
  for (const ExpressionNode& node : epilogue_.expression)
    rows_.push_back({static_cast<int>(node.op), node.operand, node.constant});
  for (const EpilogueOperand& operand : epilogue_.operands)
    operands_.push_back(
        {static_cast<int>(operand.type), operand.layout == OperandLayout::Sliced, operand.period});
  for (Rank n = 0; n < static_cast<int>(ranks_.size()); ++n)
    for (int k = 0; k < static_cast<int>(operands_.size()); ++k) {
      const OperandRow& row = operands_[k];
      const std::int64_t count = row.sliced ? ranks_[n].outputs : row.period > 0 ? row.period : whole_;
      tensors_.emplace_back();
      if (only < 0 || only == n)
        tensors_.back() = with_type(epilogue_.operands[k].type, [&](auto zero) {
          return test_tensor<decltype(zero)>(k, row.sliced ? ranks_[n].slice : 0, count);
        });
    }
  for (const std::vector<char>& tensor : tensors_) addresses_.push_back(tensor.data());
}

EpilogueFunction EpilogueRun::function() const {
  if (rows_.empty()) return {};
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

EpilogueFunction EpilogueRun::judge() const {
  if (rows_.empty()) return {};
  return [this](ElementType type, std::byte* bytes, std::int64_t count, std::int64_t first_index, Rank) {
    with_type(type, [&](auto zero) {
      using T = decltype(zero);
      T* const values = reinterpret_cast<T*>(bytes);
      for (std::int64_t i = 0; i < count; ++i) {
        const Judge<Real<T>> judge{epilogue_, real<Real<T>>(values[i]), first_index + i};
        int at = static_cast<int>(epilogue_.expression.size()) - 1;
        values[i] = rounded_to<T>(judge.value(at));
      }
    });
  };
}

}  // namespace chorale
