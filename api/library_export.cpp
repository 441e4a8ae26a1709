// Sizes go from one that was asked for up to the next one: the first choice also holds below, the last one also above.
#include "api/library_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "api/compile.h"
#include "api/inputs.h"
#include "api/library.h"
#include "api/search.h"
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

std::int64_t message_bytes(const Collective& collective, std::int64_t block) {
  return block * blocks_of(collective.kind, collective.ranks);
}

// Neighbours that choose the same are one.
std::vector<SizedChoice> choices(const std::vector<Result>& results, const std::vector<std::int64_t>& bytes,
                                 const std::function<bool(const Choice&)>& usable) {
  const Collective& collective = results.front().collective;
  std::vector<SizedChoice> ranges;
  for (const std::int64_t size : bytes) {
    const auto best = select(results, call_of(collective, static_cast<double>(size)), usable);
    if (!best) return {};
    if (!ranges.empty() && ranges.back().choice.result == best->result &&
        ranges.back().choice.point == best->point)
      continue;
    const std::int64_t from = ranges.empty() ? 0 : message_bytes(collective, size);
    if (!ranges.empty()) ranges.back().to = from - 1;
    ranges.push_back({.choice = *best, .from = from});
  }
  return ranges;
}

// One form of a target: MSCCL++ wants a plan in place and one that is not, and finds each by itself.
struct Variant {
  Target target = Target::Mscclpp;
  bool in_place = false;
  const char* ending = "";
};

void add_plans(const std::vector<Result>& results, const ExportQuestion& question, const Variant& variant,
               Exported& exported) {
  std::map<std::pair<int, int>, std::string> why_not;  // by result and point; "": it can be written
  const auto compiled = [&](const Choice& choice, std::int64_t from, std::int64_t to) {
    const Result& result = results[choice.result];
    const Point& point = result.points[choice.point];
    CompileOptions options{
        .name = fmt::format("{}_{}_{}{}", file_stem(result.topology, result.collective),
                            question.place.members.empty() ? question.place.group : "ranks", from,
                            variant.ending),
        .in_place = variant.in_place,
        .min_bytes = from,
        .max_bytes = to};
    return compile(result.topology, point, variant.target, options);
  };
  const auto usable = [&](const Choice& choice) {
    const auto [at, fresh] = why_not.try_emplace({choice.result, choice.point});
    if (fresh) try {
        compiled(choice, 0, 0);
      } catch (const InputError& error) {
        at->second = error.what();
        exported.notes.push_back(fmt::format("{}, point {}{}: {}", name_of(results[choice.result].collective),
                                             choice.point, variant.in_place ? " in place" : "",
                                             error.what()));
      }
    return at->second.empty();
  };
  for (const SizedChoice& each : choices(results, question.bytes, usable)) {
    Compiled plan = compiled(each.choice, each.from, each.to);
    if (!plan.note.empty()) exported.notes.push_back(plan.note);
    for (NamedText& file : plan.files) exported.files.push_back(std::move(file));
  }
}

// The fastest of NCCL's two shapes, in pieces that suit the size; none: the machine has not the links for one of them.
std::optional<double> shape_us(const Topology& topology, std::span<const Result> of_shape, double block) {
  std::optional<double> best;
  for (const Result& result : of_shape)
    for (const Point& point : result.points) {
      const double us = point_us(topology, point, block);
      best = std::min(us, best.value_or(us));
    }
  return best;
}

// Each with the fewest chunks, one a channel, and trees, which are pipelines, also with more; the longest
// are left out.
std::vector<Result> of_shapes(const Topology& topology, std::initializer_list<const char*> names,
                              bool pipelines) {
  constexpr int kMostSends = 200'000;
  std::vector<Result> results;
  for (const char* const name : names) try {
      results.push_back(classic(topology, {.name = name}));
      const int channels = results.back().points.front().cost.chunks;
      for (int pieces = 2;
           pipelines && pieces <= 64 && pieces * channels <= kMostSends / (2 * topology.ranks); pieces *= 2)
        results.push_back(classic(topology, {.name = name, .chunks = pieces * channels}));
    } catch (const InputError&) {  // links that it wants are not there
    }
  return results;
}

void add_tuner_rows(const std::vector<Result>& results, const ExportQuestion& question, std::string& rows,
                    Exported& exported) {
  const Collective& collective = results.front().collective;
  const std::string name = name_of(collective);
  if (collective.kind != CollectiveKind::AllReduce) {
    exported.notes.push_back(
        name + ": no rows; of NCCL's algorithms only ring and tree of an allreduce are known here");
    return;
  }
  const Topology& topology = results.front().topology;
  const std::vector<Result> rings = of_shapes(topology, {"ring_allreduce", "multi_ring_allreduce"}, false),
                            trees = of_shapes(topology, {"tree_allreduce", "two_tree_allreduce"}, true);
  struct Row {
    std::int64_t from = 0, to = 0;
    bool tree = false;
  };
  std::vector<Row> found;
  for (std::size_t i = 0; i < question.bytes.size(); ++i) {
    const auto block = static_cast<double>(question.bytes[i]);
    const auto ring = shape_us(topology, rings, block), tree = shape_us(topology, trees, block);
    if (!ring || !tree) {
      exported.notes.push_back(name + ": no rows; this machine has not the links for both a ring and a tree");
      return;
    }
    const auto ours = select(results, call_of(collective, block));
    rows += fmt::format("# {} of {}: ring {}, tree {}", name, format_bytes(block), format_us(*ring),
                        format_us(*tree));
    if (ours) rows += fmt::format(", the library's {}", format_us(ours->us));
    const bool is_tree = *tree < *ring;
    const auto latency = shape_us(topology, is_tree ? trees : rings, 0);
    const bool is_known = std::min(*ring, *tree) >= 2 * *latency;
    rows += is_known ? "\n" : "; latency counts more: NCCL's choice\n";
    if (!is_known) continue;
    const std::int64_t from = message_bytes(collective, question.bytes[i]);
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

Exported export_answers(AnswerFile& file, const std::string& name, const ExportQuestion& question) {
  if (question.place.group.find('/') != std::string::npos)
    throw InputError(name, "the group '" + question.place.group + "' is no part of the name of a file",
                     "name a level without '/'");
  Exported exported;
  std::string rows =
      "# What 'chorale library export' predicts of NCCL's own algorithms, for its example of a tuner "
      "plugin.\n"
      "# collective_type,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks,numPipeOps,regBuff\n";
  for (const std::string& collective : question.collectives) {
    AnswerPlace place = question.place;
    place.collective = collective;
    if (!is_rooted(known_kind(collective))) place.root = 0;  // which is meant for others
    std::vector<Result> results;
    for (TakenAnswer& taken : results_at(
             file, name, place, is_combining(known_kind(collective)) ? question.order : std::nullopt)) {
      exported.unchecked += taken.unchecked;
      results.push_back(std::move(taken.result));
    }
    switch (question.form) {
      case ExportForm::Mscclpp:
        add_plans(results, question, {.target = Target::Mscclpp}, exported);
        add_plans(results, question, {.target = Target::Mscclpp, .in_place = true, .ending = "_in_place"},
                  exported);
        break;
      case ExportForm::MscclXml:
        add_plans(results, question, {.target = Target::MscclXml}, exported);
        break;
      case ExportForm::NcclTuner:
        add_tuner_rows(results, question, rows, exported);
        break;
      case ExportForm::Preload:
        for (std::size_t i = 0; i < results.size(); ++i)
          exported.files.push_back(
              {.path = fmt::format("{}_{}_{}{}.json", file_stem(results[i].topology, results[i].collective),
                                   place.members.empty() ? place.group : "ranks", place.root,
                                   i == 0 ? "" : fmt::format("_{}", i)),
               .text = to_json(results[i])});
        break;
    }
  }
  if (question.form == ExportForm::NcclTuner && rows.find(",simple,") != std::string::npos)
    exported.files.push_back({.path = "nccl_tuner.csv", .text = rows});
  if (exported.files.empty())
    throw InputError(name, "nothing of that can be written",
                     exported.notes.empty() ? "" : exported.notes.front());
  return exported;
}

}  // namespace chorale
