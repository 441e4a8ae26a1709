// Each size covers the range up to the next one: the first choice also holds below, the last one also above.
#include "library/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>

#include "cost/busbw.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/words.h"
#include "library/select.h"

namespace chorale {
namespace {

struct SizedChoice {
  Choice choice = {};
  std::int64_t from = 0, to = 0;  // bytes of the larger buffer; 0: however large
};

// Adjacent ranges with the same choice are merged.
std::vector<SizedChoice> choices(const std::vector<Result>& results, const std::vector<std::int64_t>& bytes,
                                 const std::function<bool(const Choice&)>& usable) {
  const Collective& collective = results.front().collective;
  const MessageShape message = message_shape(collective);
  std::vector<SizedChoice> ranges;
  for (const std::int64_t size : bytes) {
    const auto block = static_cast<double>(block_of_size(message, size));
    const auto best = select(results, call_of(collective, block), usable);
    if (!best) return {};
    if (!ranges.empty() && ranges.back().choice.result == best->result &&
        ranges.back().choice.point == best->point)
      continue;
    const std::int64_t from = ranges.empty() ? 0 : size;
    if (!ranges.empty()) ranges.back().to = from - 1;
    ranges.push_back({.choice = *best, .from = from});
  }
  return ranges;
}

// MSCCL++ wants a plan in place and one that is not, and finds each by itself.
struct Variant {
  bool in_place = false;
  const char* ending = "";
};

void add_plans(const std::vector<Result>& results, const ExportQuestion& question, const Variant& variant,
               const Printers& printers, Exported& exported) {
  std::map<std::pair<int, int>, std::string> why_not;  // by result and point; "": it can be written
  const auto printed = [&](const Choice& choice, std::int64_t from, std::int64_t to) {
    const Result& result = results[choice.result];
    return printers.print(
        result.topology, result.points[choice.point], question.form,
        {.name = fmt::format("{}_{}_{}{}", printers.stem(result.topology, result.collective),
                             question.place.members.empty() ? question.place.group : "ranks", from,
                             variant.ending),
         .in_place = variant.in_place,
         .min_bytes = from,
         .max_bytes = to});
  };
  const auto usable = [&](const Choice& choice) {
    const auto [at, fresh] = why_not.try_emplace({choice.result, choice.point});
    if (fresh) {
      at->second = printed(choice, 0, 0).why_not;
      if (!at->second.empty())
        exported.notes.push_back(fmt::format("{}, point {}{}: {}", name_of(results[choice.result].collective),
                                             choice.point, variant.in_place ? " in place" : "", at->second));
    }
    return at->second.empty();
  };
  for (const SizedChoice& each : choices(results, question.bytes, usable)) {
    Printed plan = printed(each.choice, each.from, each.to);
    if (!plan.note.empty()) exported.notes.push_back(plan.note);
    for (NamedText& file : plan.files) exported.files.push_back(std::move(file));
  }
}

// The fastest of NCCL's two shapes, in pieces that suit the size; nullopt: the machine lacks the links for
// one of them.
std::optional<double> shape_us(const Topology& topology, std::span<const Result> of_shape, double block) {
  std::optional<double> best;
  for (const Result& result : of_shape)
    for (const Point& point : result.points) {
      const double us = point_us(topology, point, block);
      best = std::min(us, best.value_or(us));
    }
  return best;
}

// Each with the fewest chunks, one per channel, and trees, which are pipelines, also with more; the longest
// are left out.
std::vector<Result> of_shapes(const Topology& topology, std::initializer_list<const char*> names,
                              bool pipelines, const Printers& printers) {
  constexpr int kMostSends = 200'000;
  std::vector<Result> results;
  for (const char* const name : names) {
    std::optional<Result> fewest = printers.classic(topology, name, 0);
    if (!fewest) continue;
    const int channels = fewest->points.front().cost.chunks;
    results.push_back(std::move(*fewest));
    for (int pieces = 2; pipelines && pieces <= 64 && pieces * channels <= kMostSends / (2 * topology.ranks);
         pieces *= 2)
      if (std::optional<Result> finer = printers.classic(topology, name, pieces * channels))
        results.push_back(std::move(*finer));
  }
  return results;
}

void add_tuner_rows(const std::vector<Result>& results, const ExportQuestion& question,
                    const Printers& printers, std::string& rows, Exported& exported) {
  const Collective& collective = results.front().collective;
  const std::string name = name_of(collective);
  if (collective.kind != CollectiveKind::AllReduce) {
    exported.notes.push_back(
        name + ": no rows; of NCCL's algorithms only ring and tree of an allreduce are known here");
    return;
  }
  const Topology& topology = results.front().topology;
  const std::vector<Result> rings = of_shapes(topology, {"ring_allreduce", "multi_ring_allreduce"}, false,
                                              printers),
                            trees =
                                of_shapes(topology, {"tree_allreduce", "two_tree_allreduce"}, true, printers);
  struct Row {
    std::int64_t from = 0, to = 0;
    bool tree = false;
  };
  std::vector<Row> found;
  for (std::size_t i = 0; i < question.bytes.size(); ++i) {
    const auto size = static_cast<double>(question.bytes[i]);  // of an AllReduce the block, too
    const auto ring = shape_us(topology, rings, size), tree = shape_us(topology, trees, size);
    if (!ring || !tree) {
      exported.notes.push_back(name + ": no rows; this machine has not the links for both a ring and a tree");
      return;
    }
    const auto ours = select(results, call_of(collective, size));
    rows += fmt::format("# {} of {}: ring {}, tree {}", name, format_bytes(size), format_us(*ring),
                        format_us(*tree));
    if (ours) rows += fmt::format(", the library's {}", format_us(ours->us));
    const bool is_tree = *tree < *ring;
    const auto latency = shape_us(topology, is_tree ? trees : rings, 0);
    const bool is_known = std::min(*ring, *tree) >= 2 * *latency;
    rows += is_known ? "\n" : "; latency counts more: NCCL's choice\n";
    if (!is_known) continue;
    const std::int64_t from = question.bytes[i];
    if (!found.empty()) found.back().to = from - 1;
    if (found.empty() || found.back().tree != is_tree) found.push_back({.from = from, .tree = is_tree});
  }
  for (const Row& row : found)
    rows +=
        fmt::format("{},{},{},{},simple,-1,-1,{},-1,-1\n", name, row.from,
                    &row == &found.back() ? INT64_MAX : row.to, row.tree ? "tree" : "ring", collective.ranks);
}

}  // namespace

std::span<const Named<ExportForm>> export_forms() {
  static constexpr std::array<Named<ExportForm>, 4> forms = {{{ExportForm::Mscclpp, "mscclpp"},
                                                              {ExportForm::MscclXml, "msccl-xml"},
                                                              {ExportForm::NcclTuner, "nccl-tuner"},
                                                              {ExportForm::Preload, "preload"}}};
  return forms;
}

Exported exported(AnswerFile& file, const std::string& name, const ExportQuestion& question,
                  const Taker& taker, const Printers& printers) {
  if (question.place.group.find('/') != std::string::npos)
    throw InputError(name, "the group '" + question.place.group + "' is not a part of the name of a file",
                     "name a level without '/'");
  Exported all;
  std::string rows =
      "# What 'chorale library export' predicts of NCCL's own algorithms, for its example of a tuner "
      "plugin.\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n";
  for (const std::string& collective : question.collectives) {
    AnswerPlace place = question.place;
    place.collective = collective;
    if (!is_rooted(known_kind(collective))) place.root = 0;  // which is meant for others
    std::vector<Result> results;
    for (TakenAnswer& taken : taker.all_at(
             file, name, place, is_combining(known_kind(collective)) ? question.order : std::nullopt)) {
      all.unchecked += taken.unchecked;
      results.push_back(std::move(taken.result));
    }
    switch (question.form) {
      case ExportForm::Mscclpp:
        add_plans(results, question, {}, printers, all);
        add_plans(results, question, {.in_place = true, .ending = "_in_place"}, printers, all);
        break;
      case ExportForm::MscclXml:
        add_plans(results, question, {}, printers, all);
        break;
      case ExportForm::NcclTuner:
        add_tuner_rows(results, question, printers, rows, all);
        break;
      case ExportForm::Preload:
        for (std::size_t i = 0; i < results.size(); ++i)
          all.files.push_back({.path = fmt::format("{}_{}_{}{}.json",
                                                   printers.stem(results[i].topology, results[i].collective),
                                                   place.members.empty() ? place.group : "ranks", place.root,
                                                   i == 0 ? "" : fmt::format("_{}", i)),
                               .text = to_json(results[i])});
        break;
    }
  }
  if (question.form == ExportForm::NcclTuner && rows.find(",simple,") != std::string::npos)
    all.files.push_back({.path = "nccl_tuner.csv", .text = rows});
  if (all.files.empty())
    throw InputError(name, "nothing of that can be written", all.notes.empty() ? "" : all.notes.front());
  return all;
}

}  // namespace chorale
