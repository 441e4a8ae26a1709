// Tensors of one dimension that are lists of tensors, which lie anywhere: where an element is, by a table of
// buckets of 2^10 elements with the list that each begins in. Nothing is copied: loops and communications go
// from one to the next. C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/device/elements.h"

namespace chorale {

template <typename T>
struct Interval {
  T* at;
  std::int64_t count;
};

// Where its elements are, in a table owned by other code: for device code, in memory that it can read.
template <typename T>
struct ScatteredView {
  static constexpr int kBucket = 10;

  const Interval<T>* tensors = nullptr;
  const std::int64_t* begins = nullptr;
  const std::int32_t* table = nullptr;  // by bucket: the tensor that its first element is in
  std::int64_t elements = 0;

  // The contiguous elements from there on; `index` is that of an existing element.
  CHORALE_DEVICE Interval<T> run(std::int64_t index) const {
    std::int64_t k = table[index >> kBucket];
    while (index >= begins[k] + tensors[k].count) ++k;
    const std::int64_t within = index - begins[k];
    return {tensors[k].at + within, tensors[k].count - within};
  }
};

template <typename T>
class Scattered {
 public:
  Scattered() = default;
  // Where each is, and how many elements it has. Tensors that are inputs only are not written.
  explicit Scattered(const std::vector<std::pair<const T*, std::int64_t>>& tensors) {
    for (const auto& [at, count] : tensors) {
      begins_.push_back(elements_);
      tensors_.push_back({const_cast<T*>(at), count});
      elements_ += count;
      // Buckets that begin in it.
      while (static_cast<std::int64_t>(table_.size()) << kBucket < elements_)
        table_.push_back(static_cast<std::int32_t>(tensors_.size()) - 1);
    }
  }

  std::int64_t elements() const { return elements_; }
  Interval<T> run(std::int64_t index) const { return view().run(index); }
  ScatteredView<T> view() const { return {tensors_.data(), begins_.data(), table_.data(), elements_}; }

  const std::vector<Interval<T>>& tensors() const { return tensors_; }
  const std::vector<std::int64_t>& begins() const { return begins_; }
  const std::vector<std::int32_t>& table() const { return table_; }
  // The same table in other memory, kept with this one for the code that put it there.
  std::shared_ptr<void>& elsewhere() const { return elsewhere_; }

 private:
  static constexpr int kBucket = ScatteredView<T>::kBucket;

  std::vector<Interval<T>> tensors_ = {};
  std::vector<std::int64_t> begins_ = {};
  std::vector<std::int32_t> table_ = {};
  mutable std::shared_ptr<void> elsewhere_ = {};
  std::int64_t elements_ = 0;
};

// Memory of a communication: together, or scattered, from an element on.
template <typename T>
class BufferView {
 public:
  BufferView() = default;
  CHORALE_DEVICE BufferView(const T* at) : at_(const_cast<T*>(at)) {}
  BufferView(const ScatteredView<T>& scattered, std::int64_t first = 0)
      : scattered_(scattered), first_(first), together_(false) {}

  CHORALE_DEVICE bool is_together() const { return together_; }
  CHORALE_DEVICE T* at(std::int64_t index) const { return at_ + index; }  // of contiguous memory
  // One element, wherever it lies.
  CHORALE_DEVICE T* element(std::int64_t index) const { return is_together() ? at(index) : run(index, 1).at; }
  // The memory from there on.
  CHORALE_DEVICE BufferView from(std::int64_t index) const {
    BufferView result = *this;
    result.at_ += is_together() ? index : 0;
    result.first_ += index;
    return result;
  }
  CHORALE_DEVICE Interval<T> run(std::int64_t index, std::int64_t most) const {
    if (is_together()) return {at_ + index, most};
    const Interval<T> run = scattered_.run(first_ + index);
    return {run.at, run.count < most ? run.count : most};
  }

 private:
  T* at_ = nullptr;
  ScatteredView<T> scattered_ = {};
  std::int64_t first_ = 0;
  bool together_ = true;
};

}  // namespace chorale
