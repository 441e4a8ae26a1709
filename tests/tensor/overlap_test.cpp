// What is done beside communication (tensor/exchange/overlap.h, tensor/exchange/products.h): every way that
// a factor can arrive and a result can be taken, over random sides, against the product as it is defined; and
// that messages do leave before all is computed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <mutex>
#include <random>

#include "ir/step_rows.h"
#include "runtime/exchange/threads.h"
#include "tensor/exchange/device.h"
#include "tensor/exchange/products.h"

namespace chorale::test {
namespace {

HostDevice device;

// Sums of integers wrap around, as those over ranks; extremes, of nothing, are the type's.
TEST(Total, IsAnElement) {
  constexpr auto least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ((total_as<Combination::Sum, std::int32_t>(2147483648.0)), least);
  EXPECT_EQ((total_as<Combination::Sum, std::int32_t>(-3 * 2147483648.0 + 7)), least + 7);
  EXPECT_EQ((total_as<Combination::Max, std::int32_t>(identity<Combination::Max>())), least);
  EXPECT_EQ((total_as<Combination::Sum, float>(0.1)), 0.1f);
}

TEST(Divisor, DividesAsDivisionDoes) {
  std::mt19937_64 random(3);
  const auto up_to = [&](int bits) { return static_cast<std::int64_t>(random() >> (64 - bits)); };
  for (int run = 0; run < 200000; ++run) {
    const std::int64_t by = 1 + up_to(1 + run % 47), times = up_to(1 + run % 48) / by;
    for (const std::int64_t i : {up_to(48), times * by, times * by + by - 1}) {
      ASSERT_EQ(i / Divisor(by), i / by) << i << " / " << by;
      ASSERT_EQ(i % Divisor(by), i % by) << i << " / " << by;
    }
  }
}

TEST(TileGrid, FindsTheTilesOfElements) {
  std::mt19937 random(1);
  for (int run = 0; run < 200; ++run) {
    const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    const std::int64_t rows = 1 + below(9), columns = 1 + below(9);
    const TileGrid grid = {cuts(rows, 1 + below(4)), slice_cuts(columns, 1 + static_cast<int>(below(5)))};
    const std::int64_t begin = below(static_cast<int>(rows * columns)),
                       count = below(static_cast<int>(rows * columns - begin) + 1);
    std::vector<std::int64_t> found(grid.tiles(), 0), expected(grid.tiles(), 0);
    grid.for_each(begin, count, [&](int tile, std::int64_t elements) { found[tile] += elements; });
    for (std::int64_t e = begin; e < begin + count; ++e)
      for (int i = 0; i < grid.down(); ++i)
        for (int j = 0; j < grid.across(); ++j)
          if (e / columns >= grid.rows[i] && e / columns < grid.rows[i + 1] &&
              e % columns >= grid.columns[j] && e % columns < grid.columns[j + 1])
            ++expected[i * grid.across() + j];
    ASSERT_EQ(found, expected) << run;
  }
}

TEST(TileWorker, MakesRowsInTheOrderInWhichTheyAreNeeded) {
  std::vector<std::int64_t> order;
  std::mutex mutex;
  TileWorker worker = row_worker(
      device, 40, 0, 5,
      [&](std::int64_t begin, std::int64_t end) {
        const std::lock_guard<std::mutex> lock(mutex);
        for (std::int64_t row = begin; row < end; ++row) order.push_back(row);
      },
      {0}, 20);
  worker.start({{35 * 5, 10}, {0, 11}});  // rows 35 and 36, then 0 to 2; two rows at a time
  worker.demands().needs(0, 200);
  worker.finish();
  ASSERT_EQ(order.size(), 40);
  EXPECT_THAT(std::vector<std::int64_t>(order.begin(), order.begin() + 9),
              testing::ElementsAre(34, 35, 36, 37, 0, 1, 2, 3, 4));
}

TEST(TileWorker, MakesAsManyPiecesAsItIsTold) {
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  TileWorker worker = row_worker(
      device, 40, 0, 5, [&](std::int64_t begin, std::int64_t end) { pieces.emplace_back(begin, end); }, {0},
      3);
  worker.start({{35 * 5, 10}});
  worker.finish();
  EXPECT_THAT(pieces, testing::ElementsAre(std::pair(28, 40), std::pair(0, 14), std::pair(14, 28)));
}

// Each hand-over is a switch between threads: without a number there are few, however many rows there are.
TEST(TileWorker, MakesFewPiecesWhereNoneAreAskedFor) {
  for (const auto& [rows, pieces] : {std::pair(3, 3), std::pair(40, 8), std::pair(1 << 20, 8)}) {
    int made = 0;
    TileWorker worker = row_worker(device, rows, 0, 1, [&](std::int64_t, std::int64_t) { ++made; });
    worker.start();
    worker.finish();
    EXPECT_EQ(made, pieces) << rows;
  }
}

TEST(TileWorker, MakesRowsAsTheyArrive) {
  std::vector<std::int64_t> order;
  TileWorker worker =
      row_worker(device, 4, 3, 5, [&](std::int64_t begin, std::int64_t) { order.push_back(begin); });
  worker.start();
  for (const auto& [begin, count] :
       {std::pair(9, 3), std::pair(0, 2), std::pair(3, 3), std::pair(2, 1), std::pair(6, 3)})
    worker.arrivals().has(begin, count);
  worker.finish();
  EXPECT_THAT(order, testing::ElementsAre(3, 1, 0, 2));
}

// Random integers, whose sums are exact.
template <typename T>
std::vector<T> numbers(std::int64_t count, std::mt19937& random) {
  std::vector<T> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(T(static_cast<float>(random() % 9) - 4));
  return result;
}

// The arrivals and demands of a flow, slice by slice from the last rank on, each in two messages; then all is
// compared.
template <typename T>
void drive(TileWorker& worker, const ProductFlow& flow, const Sides& arriving, const Sides& result,
           const std::vector<T>& made, const std::vector<T>& expected) {
  const auto messages = [](const Sides& sides, int dim, int ranks) {
    const Blocks blocks = blocks_of(sides, dim, ranks);
    ElementParts parts;
    for (int r = ranks; r-- > 0;) {
      const std::int64_t middle = (blocks[r] + blocks[r + 1]) / 2;
      if (middle > blocks[r]) parts.emplace_back(blocks[r], middle - blocks[r]);
      if (blocks[r + 1] > middle) parts.emplace_back(middle, blocks[r + 1] - middle);
    }
    return SlicedBlocks(sides, dim, ranks).in_tensor(parts);
  };
  const ElementParts taken = messages(result, flow.taken, flow.take_to);
  worker.start(taken);
  if (flow.arrives >= 0)
    for (const auto& [begin, count] : messages(arriving, flow.along, flow.arrive_from))
      worker.arrivals().has(begin, count);
  for (const auto& [begin, count] : taken) {
    worker.demands().needs(begin, count);
    for (std::int64_t e = begin; e < begin + count; ++e)
      ASSERT_EQ(static_cast<float>(made[e]), static_cast<float>(expected[e]));
  }
  worker.finish();
}

template <typename T>
class Products : public testing::Test {};
using Elements = testing::Types<float, double, Float16, std::int32_t>;
TYPED_TEST_SUITE(Products, Elements);

TYPED_TEST(Products, AreMadeHoweverFactorsArrive) {
  using T = TypeParam;
  std::mt19937 random(7);
  for (int run = 0; run < 600; ++run) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const std::int64_t batch = 1 + below(3), rows = 1 + below(40), inner = 1 + below(20),
                       columns = 1 + below(20);
    const bool batched = below(2) == 0;
    const auto sides = [&](std::int64_t a, std::int64_t b) {
      return batched ? Sides{batch, a, b} : Sides{a, b};
    };
    const Sides left = sides(rows, inner), right = sides(inner, columns), result = sides(rows, columns);
    const std::vector<T> a = numbers<T>(product(left), random), b = numbers<T>(product(right), random);
    std::vector<T> expected, made(product(result), T(77.0f));
    for (std::int64_t n = 0; n < (batched ? batch : 1); ++n)
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          float sum = 0;
          for (std::int64_t k = 0; k < inner; ++k)
            sum += static_cast<float>(a[(n * rows + i) * inner + k]) *
                   static_cast<float>(b[(n * inner + k) * columns + j]);
          expected.push_back(T(sum));
        }
    ProductFlow flow;
    flow.arrives = below(3) - 1;
    flow.along = below(static_cast<int>(left.size()));
    flow.arrive_from = 1 + below(4);
    flow.taken = below(static_cast<int>(left.size()));
    flow.take_to = 1 + below(4);
    flow.replicated = below(2) == 0;
    SCOPED_TRACE(fmt::format("run {}: factor {} arrives along {}, taken along {}, {}", run, flow.arrives,
                             flow.along, flow.taken, batched ? "batched" : "not batched"));
    TileWorker worker = product_worker(device, made.data(), a.data(), b.data(), Share(result, true),
                                       Share(left, true), Share(right, true), batched, flow);
    drive(worker, flow, flow.arrives == 1 ? right : left, result, made, expected);
    std::vector<T> plain(product(result));
    HostDevice().matrix_products(plain.data(), a.data(), b.data(), Share(result, true), Share(left, true),
                                 Share(right, true), batched);
    for (std::size_t e = 0; e < plain.size(); ++e)
      ASSERT_EQ(static_cast<float>(plain[e]), static_cast<float>(expected[e]));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Convolutions, AreMadeHoweverFactorsArrive) {
  std::mt19937 random(3);
  for (int run = 0; run < 300; ++run) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    ConvolutionSides s{1 + below(4), 1 + below(3), 3 + below(4), 3 + below(4), 1 + below(5),
                       1 + below(3), 1 + below(3), 1 + below(2), below(2)};
    const Sides images = {s.batch, s.channels, s.height, s.width},
                kernels = {s.outputs, s.channels, s.kernel_height, s.kernel_width},
                result = {s.batch, s.outputs, s.out_height(), s.out_width()};
    const std::vector<float> x = numbers<float>(product(images), random),
                             w = numbers<float>(product(kernels), random);
    std::vector<float> expected, made(product(result), 77);
    for (std::int64_t n = 0; n < s.batch; ++n)
      for (std::int64_t o = 0; o < s.outputs; ++o)
        for (std::int64_t i = 0; i < s.out_height(); ++i)
          for (std::int64_t j = 0; j < s.out_width(); ++j) {
            float sum = 0;
            for (std::int64_t c = 0; c < s.channels; ++c)
              for (std::int64_t y = 0; y < s.kernel_height; ++y)
                for (std::int64_t z = 0; z < s.kernel_width; ++z) {
                  const std::int64_t h = i * s.stride + y - s.padding, v = j * s.stride + z - s.padding;
                  if (h < 0 || v < 0 || h >= s.height || v >= s.width) continue;
                  sum += x[((n * s.channels + c) * s.height + h) * s.width + v] *
                         w[((o * s.channels + c) * s.kernel_height + y) * s.kernel_width + z];
                }
            expected.push_back(sum);
          }
    ProductFlow flow;
    flow.arrives = below(3) - 1;
    flow.along = below(4);
    flow.arrive_from = 1 + below(4);
    flow.taken = below(4);
    flow.take_to = 1 + below(4);
    SCOPED_TRACE(fmt::format("run {}: factor {} arrives along {}, taken along {}", run, flow.arrives,
                             flow.along, flow.taken));
    TileWorker worker =
        convolution_worker(device, made.data(), x.data(), w.data(), Share(result, true), s, flow);
    drive(worker, flow, flow.arrives == 1 ? kernels : images, result, made, expected);
    if (testing::Test::HasFatalFailure()) return;
  }
}

// Summands that are added in the order of ranks, whatever comes first, give all ranks the same bits.
TEST(Products, AddWhatArrivesInOneOrderWhereReplicasAreToBeSame) {
  std::mt19937 random(5);
  std::vector<float> a(6 * 40), b(40 * 6);
  for (float& x : a) x = static_cast<float>(random()) * 1e-9F;
  for (float& x : b) x = static_cast<float>(random()) * 1e-9F;
  const Share left(Sides{6, 40}, true), right(Sides{40, 6}, true), result(Sides{6, 6}, true);
  std::vector<std::vector<float>> results;
  for (const int first : {0, 1, 2, 3}) {
    std::vector<float>& c = results.emplace_back(36);
    TileWorker worker = product_worker(device, c.data(), a.data(), b.data(), result, left, right, false,
                                       ProductFlow{1, 0, 4, 0, 1, true});
    worker.start();
    for (int r = 0; r < 4; ++r) worker.arrivals().has((first + r) % 4 * 60, 60);
    worker.finish();
  }
  for (const std::vector<float>& c : results) EXPECT_EQ(c, results[0]);
}

// The exchange of two ranks that send each other the half of a tensor that they need, in one step, in pieces.
struct Halves {
  explicit Halves(int pieces) {
    rows.pieces = pieces;
    for (int n = 0; n < 2; ++n) {
      rows.slots.push_back({2 * pieces, pieces, pieces});
      rows.slices.push_back(n * pieces);
      for (int p = 0; p < pieces; ++p) {
        const int other = 1 - n, own = n * pieces + p, sent = other * pieces + p;
        rows.messages.push_back({0, n, 0, sent, other, 2, p, other, p, 1});
        rows.work.push_back({n, 0, 0, 0, own, 1, p, n, p, 0});
        rows.work.push_back({n, 0, 1, 2, p, 1, p, n, p, 0});
      }
    }
    tables = rows.tables();
  }
  StepRows rows{.steps = 1, .own_output = true};
  StepTables tables = {};
};

// States when messages leave.
struct Recording {
  ThreadTransport& transport;
  std::function<void()> left;
  int rank() const { return transport.rank(); }
  int ranks() const { return transport.ranks(); }
  MessageOrder order() const { return transport.order(); }
  void start(Delivery& message, bool sends, int number) {
    if (sends) left();
    transport.start(message, sends, number);
  }
  std::vector<int> ended(bool waits) { return transport.ended(waits); }
  void give_back(Delivery& receive) { transport.give_back(receive); }
};

// A step has sixteen messages, of which the first leaves before the last is made, or else never.
TEST(TileWorker, HandsOverPieceByPieceWithinAStep) {
  constexpr int pieces = 16, count = 4 * pieces;  // elements of a half
  const Halves halves(pieces);
  std::vector<std::vector<float>> outputs(2, std::vector<float>(count));
  on_thread_ranks(2, [&](ThreadTransport& plain) {
    std::mutex mutex;
    std::condition_variable changed;
    bool has_left = false, in_time = false;
    int made = 0;
    Recording transport{plain, [&] {
                          const std::lock_guard<std::mutex> lock(mutex);
                          has_left = true;
                          changed.notify_all();
                        }};
    std::vector<float> c(2 * count);
    TileWorker worker = row_worker(
        device, 2 * pieces, 0, 4,
        [&](std::int64_t begin, std::int64_t end) {
          if (++made == pieces) {
            std::unique_lock<std::mutex> lock(mutex);
            in_time = changed.wait_for(lock, std::chrono::seconds(20), [&] { return has_left; });
          }
          for (std::int64_t e = 4 * begin; e < 4 * end; ++e) c[e] = static_cast<float>(e);
        },
        {0}, 2 * pieces);
    Exchange<float> exchange(halves.tables, transport.rank(), 0, Blocks{0, count, 2 * count});
    worker.start(exchange.needed());
    exchange.run(transport, c.data(), outputs[transport.rank()].data(), NoSumFunction(), worker.demands());
    worker.finish();
    EXPECT_TRUE(in_time);
  });
  for (int e = 0; e < 2 * count; ++e) EXPECT_EQ(outputs[e / count][e % count], 2 * e);
}

// The last part of the result is made only after the first message has left, or else never: whether slices
// are rows, or columns, which are packed.
TEST(TileWorker, LetsMessagesLeaveBeforeAllIsMade) {
  constexpr std::int64_t rows = 8, columns = 6;
  for (const int dim : {0, 1}) {
    const Halves halves(1);
    const Sides sides = {rows, columns};
    const SlicedBlocks slices(sides, dim, 2);
    std::vector<std::vector<float>> outputs(2, std::vector<float>(rows * columns / 2));
    on_thread_ranks(2, [&](ThreadTransport& plain) {
      std::mutex mutex;
      std::condition_variable changed;
      bool has_left = false, in_time = false;
      Recording transport{plain, [&] {
                            const std::lock_guard<std::mutex> lock(mutex);
                            has_left = true;
                            changed.notify_all();
                          }};
      std::vector<float> c(rows * columns), packed(rows * columns);
      const TileGrid grid = {dim == 0 ? std::vector<std::int64_t>{0, 4, 8} : std::vector<std::int64_t>{0, 8},
                             dim == 0 ? std::vector<std::int64_t>{0, 6} : std::vector<std::int64_t>{0, 3, 6}};
      const int own = transport.rank();
      TileWorker worker({}, grid, {{-1, 0}, {-1, 1}}, [&](int tile) {
        if (tile == own) {  // what the rank itself needs, last
          std::unique_lock<std::mutex> lock(mutex);
          in_time = changed.wait_for(lock, std::chrono::seconds(20), [&] { return has_left; });
        }
        const std::int64_t i0 = dim == 0 ? tile * 4 : 0, i1 = dim == 0 ? i0 + 4 : rows;
        const std::int64_t j0 = dim == 1 ? tile * 3 : 0, j1 = dim == 1 ? j0 + 3 : columns;
        for (std::int64_t i = i0; i < i1; ++i)
          for (std::int64_t j = j0; j < j1; ++j) c[i * columns + j] = static_cast<float>(i * columns + j);
      });
      Exchange<float> exchange(halves.tables, own, 0, blocks_of(sides, dim, 2));
      worker.start(slices.in_tensor(exchange.needed()));
      if (dim == 0)
        exchange.run(transport, c.data(), outputs[own].data(), NoSumFunction(), worker.demands());
      else
        exchange.run(transport, packed.data(), outputs[own].data(), NoSumFunction(),
                     Packing(device, slices, packed.data(), c.data(), worker.demands()));
      worker.finish();
      EXPECT_TRUE(in_time);
    });
    for (int r = 0; r < 2; ++r)
      slices.for_each_run(r * rows * columns / 2, rows * columns / 2,
                          [&](std::int64_t from, std::int64_t at, std::int64_t count) {
                            for (std::int64_t e = 0; e < count; ++e)
                              EXPECT_EQ(outputs[r][from - r * rows * columns / 2 + e], 2 * (at + e));
                          });
  }
}

}  // namespace
}  // namespace chorale::test
