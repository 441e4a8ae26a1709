// What the text form calls things, for who reads it and who writes it.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/named.h"
#include "ir/workload.h"

namespace chorale {

inline constexpr Named<ElementType> kElementWords[] = {{ElementType::Float64, "fp64"},
                                                       {ElementType::Float32, "fp32"},
                                                       {ElementType::Float16, "fp16"},
                                                       {ElementType::Bfloat16, "bf16"},
                                                       {ElementType::Int32, "int32"}};
inline constexpr Named<ReduceOp> kReductionWords[] = {
    {ReduceOp::Sum, "+"}, {ReduceOp::Min, "min"}, {ReduceOp::Max, "max"}};

// With their values in parentheses; between two values.
inline constexpr Named<ExpressionOperator> kFunctionWords[] = {
    {ExpressionOperator::Sqrt, "Sqrt"},    {ExpressionOperator::Exp, "Exp"},
    {ExpressionOperator::Log, "Log"},      {ExpressionOperator::Tanh, "Tanh"},
    {ExpressionOperator::Abs, "Abs"},      {ExpressionOperator::Min, "Min"},
    {ExpressionOperator::Max, "Max"},      {ExpressionOperator::Pow, "Pow"},
    {ExpressionOperator::Select, "Select"}};
inline constexpr Named<ExpressionOperator> kOperatorWords[] = {
    {ExpressionOperator::Add, "+"},      {ExpressionOperator::Subtract, "-"},
    {ExpressionOperator::Multiply, "*"}, {ExpressionOperator::Divide, "/"},
    {ExpressionOperator::Less, "<"},     {ExpressionOperator::LessEqual, "<="},
    {ExpressionOperator::Equal, "=="}};

inline constexpr Named<OperationKind> kConstantWords[] = {
    {OperationKind::Rank, "RANK"}, {OperationKind::Group, "GROUP"}, {OperationKind::Ranks, "WORLD"}};
inline constexpr Named<OperationKind> kCallWords[] = {{OperationKind::MatMul, "MatMul"},
                                                      {OperationKind::Convolution, "Convolution"},
                                                      {OperationKind::ReduceTensor, "ReduceTensor"},
                                                      {OperationKind::Slice, "Slice"},
                                                      {OperationKind::AllReduce, "AllReduce"},
                                                      {OperationKind::ReduceScatter, "ReduceScatter"},
                                                      {OperationKind::AllGather, "AllGather"},
                                                      {OperationKind::Reduce, "Reduce"},
                                                      {OperationKind::Broadcast, "Broadcast"},
                                                      {OperationKind::AllToAll, "AllToAll"},
                                                      {OperationKind::Send, "Send"}};

// The value that a table has for the word, or none.
template <typename Value, std::size_t n>
std::optional<Value> meaning(const Named<Value> (&table)[n], std::string_view word) {
  return value_in(std::span<const Named<Value>>(table), word);
}

// Is there a row for the value?
template <typename Value, std::size_t n>
bool has_word(const Named<Value> (&table)[n], Value value) {
  return std::ranges::find(table, value, &Named<Value>::value) != std::ranges::end(table);
}
template <typename Value, std::size_t n>
std::string word_for(const Named<Value> (&table)[n], Value value) {
  return name_in(std::span<const Named<Value>>(table), value);
}

}  // namespace chorale
