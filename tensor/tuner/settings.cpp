// What a measurement may vary without changing the schedule: the point of the frontier by which a
// collective is done, the number of pieces of an overlap, block and channels of the emitted kernels. Each
// is a list of values in a fixed order, so that a search walks from neighbour to neighbour.
#include "tensor/tuner/settings.h"

#include <algorithm>
#include <cstdlib>

#include "tensor/tuner/unit_work.h"

namespace chorale {
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
