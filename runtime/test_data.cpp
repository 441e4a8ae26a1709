// Inputs of which every sum is exact, so that an algorithm may add in any order and is still checked by
// equality.
//
// The sum of t terms that are at most m is at most t * m; with t * m not above the integers that the type
// holds exactly, no partial sum is ever rounded, whichever it is. So m = exact integers / most terms, and 1
// at least. Of floating-point types the numbers are divided by 8, which loses no bit and exposes code that
// treats them as integers. An average is one division of such a sum; a product of signs and a few twos is a
// power of two with a sign. Only sums of many 16-bit floats have little room: 256 terms of bfloat16 are -1, 0
// and 1 (eighths).
//
// Numbers come from a hash of seed, slot and element and repeat within a chunk, so what is expected is
// computed for one period and not for the whole message. With an epilogue it is computed for all: a function
// may depend on the index.
#include "runtime/test_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "runtime/device/element_types.h"

namespace chorale {
namespace {

// Data repeat with this period (a prime, so that no power of two of elements is a multiple) within a chunk:
// expected sums are computed for one period only.
constexpr std::int64_t kPeriod = 1021;

// Finalizer of splitmix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// Numbers up to which integers are held exactly, as far as it matters here.
std::int64_t exact_integers(ElementType type) {
  switch (type) {
    case ElementType::Float16:
      return std::int64_t{1} << 11;
    case ElementType::Bfloat16:
      return std::int64_t{1} << 8;
    case ElementType::Float8E4m3:
      return std::int64_t{1} << 4;
    case ElementType::Float8E5m2:
      return std::int64_t{1} << 3;
    default:  // other sums are exact or wrap around
      return std::int64_t{1} << 23;
  }
}

// In which type sums are kept.
ElementType kept_type(const BlockShape& shape) {
  return shape.accumulation == Accumulation::Float32 ? wide_type(shape.type) : shape.type;
}

// Values of float32, rounded to what they travel as: alike in any groups, as long as they are no larger than
// this times the least.
std::int64_t alike_in_groups(Wire wire) {
  return wire == Wire::Int8 ? 127 : wire == Wire::Mxfp8 ? 1 << 13 : std::numeric_limits<std::int64_t>::max();
}
template <typename T>
void travel(const BlockShape& shape, std::vector<T>& values) {
  if (shape.wire == Wire::Float32) return;
  const WireUnit unit = unit_on_wire(shape.type, shape.wire);
  std::vector<std::byte> wire((values.size() / unit.elements + 1) * unit.bytes);
  const auto data = std::as_writable_bytes(std::span(values));
  pack(shape.wire, data, std::ssize(values), wire.data());
  unpack(shape.wire, wire.data(), std::ssize(values), data);
}

}  // namespace

TestData::TestData(const Collective& collective, const BlockShape& shape, ReduceOp op, std::uint64_t seed,
                   Sums sums)
    : collective_(collective), shape_(shape), op_(op), seed_(seed), sums_(sums), promise_(collective) {
  std::size_t most_terms = 1;
  for (Rank n = 0; n < collective.ranks; ++n)
    for (const Promise::Output& output : promise_.outputs(n)) {
      most_terms = std::max(most_terms, promise_.terms(output.chunks).size());
    }
  // What is held exactly as an integer is as well in eighths. The inputs have to fit into the element type,
  // the sums into the type in which they are kept.
  const bool bytes = shape.type == ElementType::Int8 || shape.type == ElementType::Uint8;
  const std::int64_t most = std::min<std::int64_t>(bytes ? 60 : 4096, exact_integers(shape.type));
  // The type of the sum bounds the sum, the type of the input the single number: 16-bit floats added in
  // float32 may have sums that no 16-bit float holds, which reveals intermediate rounding.
  largest_ =
      std::clamp<std::int64_t>(std::min(exact_integers(kept_type(shape)), alike_in_groups(shape.wire)) /
                                   static_cast<std::int64_t>(most_terms),
                               1, most);
}

// Both divide a block into its chunks as programs do, with the same remainder.
std::int64_t TestData::begin(int slot) const {
  const int k = collective_.chunks_per_block;
  return Pieces{shape_.elements, k}.slot_begin(slot);
}

std::int64_t TestData::length(int slot) const {
  const int k = collective_.chunks_per_block;
  return Pieces{shape_.elements, k}.slot_length(slot);
}

// Of integer types the numerator.
template <typename T>
T as(std::int64_t numerator, int denominator) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(numerator);
  else
    return T(static_cast<float>(numerator) / static_cast<float>(denominator));
}

// A sign, digits and one of twelve powers of two; of products powers near one, so that few overflow. Integers
// are any.
template <typename T>
T rounded_in_sums(std::uint64_t random, ReduceOp op) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(random);
  } else {
    const float digits = 1 + static_cast<float>(random >> 40) / static_cast<float>(1 << 24);
    const int power =
        static_cast<int>(random / 2 % (op == ReduceOp::Prod ? 2 : 12)) - (op == ReduceOp::Prod ? 1 : 6);
    return T((random & 1 ? -1.0f : 1.0f) * std::ldexp(digits, power));
  }
}

template <typename T>
std::vector<T> TestData::pattern(int place) const {
  std::vector<T> values(std::min(kPeriod, shape_.elements));
  const std::uint64_t key = mixed(seed_ ^ mixed(static_cast<std::uint64_t>(place)));
  for (std::size_t e = 0; e < values.size(); ++e) {
    const std::uint64_t random = mixed(key + e);
    if (sums_ == Sums::Rounded) {
      values[e] = rounded_in_sums<T>(random, op_);
    } else if (op_ == ReduceOp::Prod) {
      // Products of signs and a few twos are exact in every type.
      const int two = shape_.wire == Wire::Int8 ? 1 : 2;  // of a group at most 127 times the least
      const int factor = (random & 1 ? -1 : 1) * (random % 32 < 2 ? two : 1);
      values[e] = as<T>(factor, 1);
    } else {
      values[e] = as<T>(static_cast<std::int64_t>(random % (2 * largest_ + 1)) - largest_, 8);
    }
  }
  return values;
}

template <typename T, typename Function>
void TestData::in_periods(int slot, const std::vector<T>& values, Function function) const {
  for (std::int64_t e = 0; e < length(slot); e += kPeriod)
    function(begin(slot) + e, std::span(values).first(std::min(kPeriod, length(slot) - e)));
}

template <typename T, typename Function>
void TestData::for_each_input(Rank n, Function function) const {
  for (int slot = 0; slot < promise_.inputs(n); ++slot)
    in_periods(slot, pattern<T>(promise_.place(n, slot)), function);
}

// From the promise alone: which inputs an output is the sum of. Terms are added in their order here; any
// other has the same result.
template <typename T, typename Kept, typename Function>
void TestData::for_each_output(Rank n, const EpilogueFunction& epilogue, Function function) const {
  for (const auto& [slot, chunks] : promise_.outputs(n)) {
    std::vector<Kept> sum;
    for (const Promise::Input& input : promise_.terms(chunks)) {
      const std::vector<T> inputs = pattern<T>(promise_.place(input.rank, input.slot));
      std::vector<Kept> values(inputs.size());
      std::ranges::transform(inputs, values.begin(), [](T each) { return static_cast<Kept>(each); });
      travel(shape_, values);
      if (sum.empty())
        sum = std::move(values);
      else
        with_op(op_, [&]<Combination op>() {
          for (std::size_t e = 0; e < sum.size(); ++e) sum[e] = combined<op>(sum[e], values[e]);
        });
    }
    travel(shape_, sum);
    if (op_ == ReduceOp::Avg && adds(collective_))
      for (Kept& value : sum) value = averaged(value, collective_.ranks);
    if (epilogue && length(slot) > 0) {
      // It depends on the index, so values are no longer periodic.
      std::vector<Kept> all(length(slot));
      for (std::size_t e = 0; e < all.size(); ++e) all[e] = sum[e % kPeriod];
      epilogue(kept_type(shape_), reinterpret_cast<std::byte*>(all.data()), length(slot),
               begin(collective_.chunks[chunks.front()].input), n);
      std::vector<T> rounded(all.size());
      std::ranges::transform(all, rounded.begin(), [](Kept value) { return static_cast<T>(value); });
      function(begin(slot), std::span<const T>(rounded));
      continue;
    }
    std::vector<T> rounded(sum.size());
    std::ranges::transform(sum, rounded.begin(), [](Kept value) { return static_cast<T>(value); });
    in_periods(slot, rounded, function);
  }
}

// Of each value that several ranks receive, every rank gives the hash of its bits, times a number; these
// numbers add up to zero.
std::int64_t TestData::imbalance(Rank n, std::span<const std::byte> output) const {
  constexpr std::uint64_t kModulus = std::uint64_t{1} << 40;
  const std::size_t size = size_of(shape_.type);
  const auto factor = [&](Rank rank, int slot) {
    return mixed(mixed(seed_ + static_cast<std::uint64_t>(rank)) ^ static_cast<std::uint64_t>(slot));
  };
  std::uint64_t sum = 0;
  for (const auto& [slot, chunks] : promise_.outputs(n)) {
    if (chunks.size() > 1 && is_custom(collective_)) continue;  // others may add other chunks there
    const RankSet& post = collective_.chunks[chunks.front()].post;
    std::uint64_t mine = factor(n, slot);
    if (n == post.front()) {
      mine = 0;
      for (const Rank other : post)
        if (other != n) mine -= factor(other, slot);
    }
    const auto bits = output.subspan(static_cast<std::size_t>(begin(slot)) * size,
                                     static_cast<std::size_t>(length(slot)) * size);
    const std::string_view text(reinterpret_cast<const char*>(bits.data()), bits.size());
    sum += mine * mixed(std::hash<std::string_view>()(text));
  }
  return static_cast<std::int64_t>(sum % kModulus);
}

// memcpy, since a caller's buffer need not be aligned to the type.
void TestData::fill_input(Rank n, std::span<std::byte> input) const {
  with_type(shape_.type, [&](auto zero) {
    using T = decltype(zero);
    for_each_input<T>(n, [&](std::int64_t at, std::span<const T> values) {
      std::memcpy(&input[at * sizeof(T)], values.data(), values.size_bytes());
    });
  });
}

namespace {

// How many of the values that lie there are not equal to these? Mostly all bits are the same.
template <typename T, typename Equal>
std::int64_t different(const std::byte* there, std::span<const T> values, Equal equal) {
  if (std::memcmp(there, values.data(), values.size_bytes()) == 0) return 0;
  std::int64_t count = 0;
  for (const T& value : values) {
    T have;
    std::memcpy(&have, there, sizeof(T));
    there += sizeof(T);
    count += !equal(have, value);
  }
  return count;
}

}  // namespace

// By bits: an input that is not written keeps them all.
std::int64_t TestData::changed_elements(Rank n, std::span<const std::byte> input) const {
  return with_type(shape_.type, [&](auto zero) {
    using T = decltype(zero);
    std::int64_t changed = 0;
    for_each_input<T>(n, [&](std::int64_t at, std::span<const T> values) {
      changed += different(&input[at * sizeof(T)], values,
                           [](const T& a, const T& b) { return std::memcmp(&a, &b, sizeof(T)) == 0; });
    });
    return changed;
  });
}

void TestData::spoil_output(std::span<std::byte> output) {
  std::ranges::fill(output, std::byte{0x7f});  // of most types a number far beyond all sums
}

std::int64_t TestData::wrong_elements(Rank n, std::span<const std::byte> output,
                                      const EpilogueFunction& epilogue) const {
  return with_type(shape_.type, [&](auto zero) {
    using T = decltype(zero);
    std::int64_t wrong = 0;
    const auto compare = [&](std::int64_t at, std::span<const T> values) {
      wrong += different(&output[at * sizeof(T)], values,
                         [](const T& have, const T& value) { return have == value; });  // NaN is wrong
    };
    if (kept_type(shape_) == shape_.type)
      for_each_output<T, T>(n, epilogue, compare);
    else
      for_each_output<T, float>(n, epilogue, compare);
    return wrong;
  });
}

}  // namespace chorale
