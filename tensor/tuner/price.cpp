// Units are opened (their points not chosen yet), runs of overlapped units are settled together, and the
// program's time is the sum over runs.
//
// The choice in a run is by coordinate descent: for each number of pieces, one collective's point at a
// time is changed while the run gets shorter. Points of one run interact only through the pipeline's
// longest stage, and a frontier has few points.
#include "tensor/tuner/price.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "ir/error.h"
#include "tensor/tuner/unit_work.h"

namespace chorale {
namespace {

double longest(const UnitPrice& unit) {
  return std::max({unit.moved_us, unit.memory_us, unit.compute_us});
}

struct PointTime {
  double steps_us = 0, moved_us = 0;
};

// A simulated time of 0 bytes is the part that does not shrink with pieces: steps, and the call, which is the
// launch of the unit (opened()). The rest is moved bytes.
PointTime time_of_point(const CollectivePrice& price, std::size_t point, double bytes) {
  if (!price.simulated) {
    const double steps_us = price.points[point].steps * price.link.alpha_us;
    return {steps_us, time_us(price.points[point], price.link, bytes) - price.link.call_us - steps_us};
  }
  const double none_us = price.simulated(point, 0);
  return {none_us - price.link.call_us, std::max(0.0, price.simulated(point, bytes) - none_us)};
}

// One of a number of choices.
struct Pick {
  std::size_t count = 1, at = 0;
};

struct OpenCollective {
  std::string name = {};
  const CollectivePrice* price = nullptr;
  std::vector<PointTime> times = {};  // of its points
  Pick pick = {};
};

// A unit whose points are not chosen yet.
struct OpenUnit {
  UnitPrice fixed = {};
  bool is_product = false;
  std::vector<OpenCollective> collectives = {};

  UnitPrice settled() const {
    UnitPrice result = fixed;
    for (const OpenCollective& each : collectives) {
      result.steps_us += each.times[each.pick.at].steps_us;
      result.moved_us += each.times[each.pick.at].moved_us;
      result.points.push_back(each.price->points[each.pick.at]);
    }
    return result;
  }
};

class OpenRun {
 public:
  OpenRun(const std::vector<UnitWork>& run, const WorkloadPrices& prices, const Execution& given)
      : device_(prices.device), overlap_(run.front().unit.overlap) {
    std::int64_t handed_over = 1;
    for (std::size_t i = 0; i < run.size(); ++i) {
      units_.push_back(opened(run[i], prices, given));
      if (i + 1 < run.size()) handed_over = std::max(handed_over, run[i].handed_over);
    }
    const auto communicates = [](const OpenUnit& unit) { return !unit.collectives.empty(); };
    const auto first = std::ranges::find_if(units_, communicates);
    goes_by_tiles_ = std::ranges::count_if(units_, communicates) > 1 &&
                     (std::ranges::none_of(units_, &OpenUnit::is_product) ||
                      first->collectives.front().price->kind == OperationKind::AllToAll);
    beside_ = run.front().beside;
    if (run.size() == 1 || beside_) return;
    possible_ = possible_pieces(handed_over, device_);
    if (const int number = pieces_of(given, overlap_); number > 0) possible_ = {number};
  }

  // Each number of pieces begins with what is best for each collective alone; what another number led to
  // is not taken over, so the result does not depend on the order of the numbers.
  RunPrice best(Execution& chosen) {
    // One number if the execution gives it, or if nothing is handed over.
    const std::vector<OpenUnit> alone = units_;
    std::vector<OpenUnit> best = alone;
    double least = -1;
    int pieces = 1;
    for (const int number : possible_) {
      pieces_ = number;
      units_ = alone;
      const double us = improve();
      if (least >= 0 && us >= least) continue;
      least = us;
      best = units_;
      pieces = number;
    }
    units_ = std::move(best);
    pieces_ = pieces;
    RunPrice result{.overlap = overlap_, .us = us()};
    for (const OpenUnit& unit : units_) {
      result.units.push_back(unit.settled());
      for (const OpenCollective& each : unit.collectives)
        if (has_algorithm(each.price->kind))
          chosen.points.push_back({.operation = each.name, .cost = each.price->points[each.pick.at]});
    }
    if (units_.size() > 1) {
      result.pieces = pieces_;
      chosen.pieces.push_back({.overlap = overlap_, .pieces = result.pieces});
    }
    return result;
  }

 private:
  // Changes one point after the other as long as that makes the run shorter; how long it is then.
  double improve() {
    double least = us();
    for (bool better = true; better;) {
      better = false;
      for (OpenUnit& unit : units_)
        for (OpenCollective& each : unit.collectives) {
          std::size_t best = each.pick.at;
          for (std::size_t i = 0; i < each.pick.count; ++i) {
            each.pick.at = i;
            if (const double now = us(); now < least * (1 - 1e-12)) least = now, best = i, better = true;
          }
          each.pick.at = best;
        }
    }
    return least;
  }

  // With the points that are best for each collective by itself, or that are given.
  static OpenUnit opened(const UnitWork& work, const WorkloadPrices& prices, const Execution& given) {
    const DeviceNumbers& device = prices.device;
    OpenUnit result{.is_product = work.is_product};
    result.fixed = {
        .name = work.unit.name,
        .launch_us = device.launch_us,
        .memory_us = static_cast<double>(work.read + work.written) / (1e3 * device.memory_gbs),
        // Times of the three kinds of arithmetic add up. 1e12 operations per second are 1e6 per microsecond.
        .compute_us = (work.product_flops / device.product_tflops + work.flops / device.compute_tflops +
                       work.double_flops / device.double_tflops) /
                      1e6};
    for (const CollectiveWork& collective : work.collectives) {
      result.collectives.push_back(opened(collective, prices, given));
      result.fixed.launch_us =
          std::max(result.fixed.launch_us, result.collectives.back().price->link.call_us);
    }
    return result;
  }
  // A point that is given cannot be changed: it has no other choices.
  static OpenCollective opened(const CollectiveWork& collective, const WorkloadPrices& prices,
                               const Execution& given) {
    const CollectivePrice* const price = price_of(prices, collective.kind, collective.scope, collective.root);
    OpenCollective result{.name = collective.name, .price = price};
    for (std::size_t i = 0; i < price->points.size(); ++i)
      result.times.push_back(time_of_point(*price, i, static_cast<double>(collective.block_bytes)));
    result.pick.count = price->points.size();
    const auto alone = [](const PointTime& time) { return time.steps_us + time.moved_us; };
    result.pick.at =
        static_cast<std::size_t>(std::ranges::min_element(result.times, {}, alone) - result.times.begin());
    const Cost* const cost = point_of(given, collective.name);
    if (cost == nullptr) return result;
    result.pick.at =
        static_cast<std::size_t>(std::ranges::find(price->points, *cost) - price->points.begin());
    result.pick.count = 0;  // no other one
    return result;
  }

  // Memory is shared by all units, so their traffic together is a bound.
  double us() const {
    if (units_.size() == 1) return units_[0].settled().us();
    // Communication and computation side by side: the longer of the two, and one launch more.
    if (beside_) {
      double moved = 0, computed = 0;
      for (const OpenUnit& open : units_)
        (open.collectives.empty() ? computed : moved) += open.settled().us();
      return device_.beside * std::max(moved, computed) + (1 - device_.beside) * (moved + computed) +
             device_.launch_us;
    }
    double launches = 0, steps = 0, memory = 0, apart = 0;
    for (const OpenUnit& open : units_) {
      const UnitPrice unit = open.settled();
      launches += unit.launch_us;
      steps += unit.steps_us;
      memory += unit.memory_us;
      apart += longest(unit);
    }
    const double together = goes_by_tiles_ ? by_tiles() - steps : by_pieces();
    const double links = pieces_ * static_cast<double>(units_.size() - 1);
    return launches + steps + links * device_.piece_us +
           std::max(device_.beside * together + (1 - device_.beside) * apart, memory);
  }

  // Communications cut into as many pieces: each piece takes the steps of each, and they follow each other as
  // a pipeline.
  double by_tiles() const {
    double all = 0, slowest = 0;
    for (const OpenUnit& open : units_) {
      const UnitPrice unit = open.settled();
      const double piece = longest(unit) / pieces_ + unit.steps_us;
      all += piece;
      slowest = std::max(slowest, piece);
    }
    return all + (pieces_ - 1) * slowest;
  }

  // Products beside communications that are not cut by tiles: these bring a factor, take the result, or both,
  // one after the other. Messages are cut as the product is, so the first piece is beside nothing, and so is
  // the last.
  double by_pieces() const {
    double brings = 0, made = 0, takes = 0, last_taken = 0;
    bool is_made = false;
    for (const OpenUnit& open : units_) {
      const UnitPrice unit = open.settled();
      const double us = longest(unit);
      if (open.collectives.empty()) {
        made += us;
      } else if (!is_made) {
        brings = us;
      } else {
        // Of a ReduceScatter and an AllGather in one kernel the former takes the result.
        const OpenCollective& first = open.collectives.front();
        const double share = unit.moved_us > 0 ? first.times[first.pick.at].moved_us / unit.moved_us : 1;
        takes = us;
        last_taken = us * (1 - share + share / pieces_);
      }
      is_made = is_made || open.is_product;
    }
    const double last = takes > 0 && brings > 0 ? 0 : made / pieces_;
    return std::max(brings / pieces_ + made + last_taken, brings + takes + last);
  }

  const DeviceNumbers& device_;
  const std::string overlap_;
  std::vector<OpenUnit> units_ = {};
  bool goes_by_tiles_ = false, beside_ = false;
  std::vector<int> possible_ = {1};
  int pieces_ = 1;
};

// Why it has no price, carried out as is given; "": it has one.
std::string why_none(const CollectiveWork& collective, const WorkloadPrices& prices, const Execution& given) {
  const CollectivePrice* const price = price_of(prices, collective.kind, collective.scope, collective.root);
  if (price == nullptr)
    return fmt::format("there is none of {} among the ranks of {}, which {} asks for",
                       to_string(collective.kind),
                       collective.scope == Scope::World   ? "the world"
                       : collective.scope == Scope::Group ? "a group"
                                                          : "one number in all groups",
                       collective.name);
  const Cost* const cost = point_of(given, collective.name);
  if (cost == nullptr || std::ranges::find(price->points, *cost) != price->points.end()) return "";
  return fmt::format("{} has no point of {} steps and {}/{} rounds", collective.name, cost->steps,
                     cost->rounds, cost->chunks);
}

std::string why_none(const std::vector<UnitWork>& units, const WorkloadPrices& prices,
                     const Execution& given) {
  for (const UnitWork& unit : units)
    for (const CollectiveWork& collective : unit.collectives)
      if (std::string why = why_none(collective, prices, given); !why.empty()) return why;
  return "";
}

// Requires that each collective has a price.
// A run ends where the overlap changes; units of no overlap are runs of their own.
WorkloadPrice priced(std::vector<UnitWork> units, const WorkloadPrices& prices, const Execution& given) {
  WorkloadPrice result;
  result.execution = {.block = given.block, .channels = given.channels};
  std::vector<UnitWork> run;
  const auto end_of_run = [&] {
    if (run.empty()) return;
    result.runs.push_back(OpenRun(run, prices, given).best(result.execution));
    result.us += result.runs.back().us;
    run.clear();
  };
  for (UnitWork& each : units) {
    if (!run.empty() && (each.unit.overlap.empty() || each.unit.overlap != run.back().unit.overlap))
      end_of_run();
    run.push_back(std::move(each));
  }
  end_of_run();
  return result;
}

// Among `ranks` ranks on a switch; a block is all of the vector, or what a rank has of it (ir/collective.h).

}  // namespace

const CollectivePrice* price_of(const WorkloadPrices& prices, OperationKind kind, Scope scope, int root) {
  const bool rooted = kind == OperationKind::Reduce || kind == OperationKind::Broadcast;
  for (const CollectivePrice& each : prices.collectives)
    if (each.kind == kind && each.scope == scope && !each.points.empty() &&
        (!rooted || each.root == CollectivePrice::kAnyRoot || each.root == root))
      return &each;
  return nullptr;
}

// Powers of two, as long as a piece has piece_bytes or more.
std::vector<int> possible_pieces(std::int64_t handed_over, const DeviceNumbers& device) {
  constexpr int kMostPieces = 64;
  std::vector<int> pieces = {1};
  while (pieces.back() < kMostPieces &&
         static_cast<double>(handed_over) >= 2 * pieces.back() * device.piece_bytes)
    pieces.push_back(2 * pieces.back());
  return pieces;
}

double UnitPrice::us() const {
  return launch_us + steps_us + longest(*this);
}

std::optional<WorkloadPrice> price_if_any(const Workload& workload, const WorkloadPrices& prices,
                                          const Execution& given) {
  std::vector<UnitWork> units = unit_work(workload);
  if (!why_none(units, prices, given).empty()) return {};
  return priced(std::move(units), prices, given);
}

WorkloadPrice price(const Workload& workload, const WorkloadPrices& prices, const Execution& given) {
  std::vector<UnitWork> units = unit_work(workload);
  if (const std::string why = why_none(units, prices, given); !why.empty()) throw InputError("prices", why);
  return priced(std::move(units), prices, given);
}

// What a measurement may vary without changing the schedule: the point of the frontier by which a
// collective is done, the number of pieces of an overlap, block and channels of the emitted kernels. Each
// is a list of values in a fixed order, so that a search walks from neighbour to neighbour.
namespace {

using SettingKind = OpenSetting::Kind;

// Sends, rows by counts and what has one point have nothing to choose.
void add_points(const CollectiveWork& collective, const WorkloadPrices& prices,
                std::vector<OpenSetting>& settings) {
  if (!has_algorithm(collective.kind)) return;
  const CollectivePrice* const price = price_of(prices, collective.kind, collective.scope, collective.root);
  if (price == nullptr || price->points.size() < 2) return;
  OpenSetting setting{.kind = SettingKind::Point, .name = collective.name, .points = price->points};
  std::ranges::stable_sort(setting.points, {}, &Cost::steps);
  settings.push_back(std::move(setting));
}

// By overlap: the most bytes that one of its units hands over to the next.
void add_pieces(const std::vector<UnitWork>& work, const DeviceNumbers& device,
                std::vector<OpenSetting>& settings) {
  for (std::size_t i = 0; i < work.size();) {
    std::size_t end = i + 1;
    std::int64_t handed_over = 1;
    for (;
         end < work.size() && !work[i].unit.overlap.empty() && work[end].unit.overlap == work[i].unit.overlap;
         ++end)
      handed_over = std::max(handed_over, work[end - 1].handed_over);
    std::vector<int> pieces = possible_pieces(handed_over, device);
    if (end > i + 1 && pieces.size() > 1)
      settings.push_back(
          {.kind = SettingKind::Pieces, .name = work[i].unit.overlap, .numbers = std::move(pieces)});
    i = end;
  }
}

// `usual` is what is emitted where nothing is given; the first value stands for it if it is not among them.
OpenSetting numbers_of(SettingKind kind, const std::vector<int>& values, int usual) {
  const auto it = std::ranges::find(values, usual);
  return {.kind = kind,
          .numbers = values,
          .usual = it == values.end() ? 0 : static_cast<std::size_t>(it - values.begin())};
}

// Where an execution has the number; an overlap that it does not mention gets an entry first.
int* number_of(Execution& execution, const OpenSetting& setting) {
  if (setting.kind == SettingKind::Block) return &execution.block;
  if (setting.kind == SettingKind::Channels) return &execution.channels;
  auto it = std::ranges::find(execution.pieces, setting.name, &ChosenPieces::overlap);
  if (it == execution.pieces.end())
    it = execution.pieces.insert(it, {.overlap = setting.name, .pieces = setting.numbers.front()});
  return &it->pieces;
}

}  // namespace

// Points first, then pieces, blocks and channels: the tuner varies them in this order.
std::vector<OpenSetting> open_settings(const Workload& workload, const WorkloadPrices& prices,
                                       const SettingValues& values) {
  std::vector<OpenSetting> settings;
  const std::vector<UnitWork> work = unit_work(workload);
  bool sums = false;
  for (const UnitWork& unit : work)
    for (const CollectiveWork& collective : unit.collectives) {
      add_points(collective, prices, settings);
      sums = sums || collective.kind == OperationKind::AllReduce ||
             collective.kind == OperationKind::ReduceScatter || collective.kind == OperationKind::Reduce;
    }
  add_pieces(work, prices.device, settings);
  if (sums && values.blocks.size() > 1)
    settings.push_back(numbers_of(SettingKind::Block, values.blocks, values.usual_block));
  if (values.channels.size() > 1)
    settings.push_back(numbers_of(SettingKind::Channels, values.channels, values.usual_channels));
  return settings;
}

// Numbers from an earlier run need not be among today's values (another device, other limits): the nearest
// one stands for them.
std::size_t value_of(const Execution& execution, const OpenSetting& setting) {
  if (setting.kind == SettingKind::Point) {
    const Cost* const cost = point_of(execution, setting.name);
    const auto it = cost == nullptr ? setting.points.end() : std::ranges::find(setting.points, *cost);
    return it == setting.points.end() ? setting.usual : static_cast<std::size_t>(it - setting.points.begin());
  }
  Execution copy = execution;
  const int number = *number_of(copy, setting);
  if (number == 0) return setting.usual;
  return static_cast<std::size_t>(
      std::ranges::min_element(setting.numbers, {}, [&](int each) { return std::abs(each - number); }) -
      setting.numbers.begin());
}

Execution with_value(Execution execution, const OpenSetting& setting, std::size_t value) {
  if (setting.kind != SettingKind::Point) {
    *number_of(execution, setting) = setting.numbers.at(value);
    return execution;
  }
  const auto it = std::ranges::find(execution.points, setting.name, &ChosenPoint::operation);
  if (it == execution.points.end())
    execution.points.push_back({.operation = setting.name, .cost = setting.points.at(value)});
  else
    it->cost = setting.points.at(value);
  return execution;
}

}  // namespace chorale
