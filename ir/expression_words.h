// What expressions call types, functions and operators in texts, for the reader and the printer. Apart from
// ir/expression.h, which nvcc reads as C++17.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ir/elements.h"
#include "ir/expression.h"
#include "ir/named.h"

namespace chorale {

// Types of elements; workloads have the first seven.
inline constexpr Named<ElementType> kElementWords[] = {
    {ElementType::Float64, "fp64"},  {ElementType::Float32, "fp32"},    {ElementType::Float16, "fp16"},
    {ElementType::Bfloat16, "bf16"}, {ElementType::Float8E4m3, "e4m3"}, {ElementType::Float8E5m2, "e5m2"},
    {ElementType::Int32, "int32"},   {ElementType::Int64, "int64"},     {ElementType::Int8, "int8"},
    {ElementType::Uint8, "uint8"},   {ElementType::Uint32, "uint32"},   {ElementType::Uint64, "uint64"}};
inline constexpr int kWorkloadElementWords = 7;

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

// Returns the value that a table has for the word, or none.
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
