// Tensors of one dimension that are lists of tensors, which lie anywhere: where an element is, by a table of buckets of
// 2^10 elements that says in which of them each begins. Nothing is copied: loops and communications go from one to the
// next. C++17, and goes along with what is emitted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace chorale {

template <typename T>
struct Stretch {
  T* at;
  std::int64_t count;
};

template <typename T>
class Scattered {
 public:
  Scattered() = default;
  // Where each is, and how many elements it has. What is an input alone is only read.
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
  // The elements from there on that lie together; `index` is that of one that there is.
  Stretch<T> run(std::int64_t index) const {
    std::size_t k = static_cast<std::size_t>(table_[static_cast<std::size_t>(index >> kBucket)]);
    while (index >= begins_[k] + tensors_[k].count) ++k;
    const std::int64_t within = index - begins_[k];
    return {tensors_[k].at + within, tensors_[k].count - within};
  }

 private:
  static constexpr int kBucket = 10;

  std::vector<Stretch<T>> tensors_ = {};
  std::vector<std::int64_t> begins_ = {};
  std::vector<std::int32_t> table_ = {};  // by bucket: the tensor that its first element is in
  std::int64_t elements_ = 0;
};

// Memory of a communication: together, or scattered, from an element on.
template <typename T>
class Lies {
 public:
  Lies(const T* at) : at_(const_cast<T*>(at)) {}
  Lies(const Scattered<T>& scattered, std::int64_t first = 0) : scattered_(&scattered), first_(first) {}

  bool is_together() const { return scattered_ == nullptr; }
  T* at(std::int64_t index) const { return at_ + index; }  // of memory that lies together
  Stretch<T> run(std::int64_t index, std::int64_t most) const {
    if (is_together()) return {at_ + index, most};
    const Stretch<T> run = scattered_->run(first_ + index);
    return {run.at, std::min(run.count, most)};
  }

 private:
  T* at_ = nullptr;
  const Scattered<T>* scattered_ = nullptr;
  std::int64_t first_ = 0;
};

}  // namespace chorale
