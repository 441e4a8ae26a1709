// Files for other programs, made of the answers for one machine and group. Plans (MSCCL++, MSCCL) have a file
// per range of sizes, programs (MPI, NCCL) and results one per collective; times are one file for all, so
// their rows are collected first.
//
// Each size covers the range up to the next one: the first choice also holds below, the last one also above.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "api/compile.h"
#include "api/search.h"
#include "construct/baselines/classic.h"
#include "cost/busbw.h"
#include "cost/program_time.h"
#include "ir/error.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/json_reader.h"
#include "ir/links_alone.h"
#include "ir/words.h"
#include "jobs/library.h"
#include "jobs/ready_after.h"
#include "library/select.h"

namespace chorale {
namespace {

struct SizedChoice {
  Choice choice = {};
  std::int64_t from = 0, to = 0;  // bytes of the larger buffer; 0: however large
};

// Adjacent ranges with the same choice are merged. Between two sizes with different choices the border is the
// larger size: what was not compared stays with the smaller. Of 1K, 4K and 16K with choices A, A and B: A up
// to 16K - 1, B from 16K on. Nothing where a size has no choice, which holds for all sizes then.
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

// A target that cannot express an algorithm is not an error of an export: the reason is a note.
void add_files(OrError<Compiled> made, Exported& exported) {
  if (!made) {
    exported.notes.emplace_back(made.error().what());
    return;
  }
  if (!made->note.empty()) exported.notes.push_back(made->note);
  std::ranges::move(made->files, std::back_inserter(exported.files));
}

// MSCCL++ needs a plan in place and one that is not, and finds each by itself.
struct Variant {
  bool in_place = false;
  const char* ending = "";
};

// Whether a point can be written is tried once, before sizes are divided, so that the next best takes its
// range.
void add_plans(const std::vector<Result>& results, const ExportQuestion& question, const Variant& variant,
               Exported& exported) {
  std::map<std::pair<int, int>, std::string> why_not;  // by result and point; "": it can be written
  const auto printed = [&](const Choice& choice, std::int64_t from, std::int64_t to) {
    const Result& result = results[choice.result];
    return try_compile(result.topology, result.points[choice.point],
                       question.form == ExportForm::MscclXml ? Target::MscclXml : Target::Mscclpp,
                       {.name = fmt::format("{}_{}_{}{}", file_stem(result.topology, result.collective),
                                            question.place.members.empty() ? question.place.group : "ranks",
                                            from, variant.ending),
                        .in_place = variant.in_place,
                        .min_bytes = from,
                        .max_bytes = to});
  };
  // The trial lowers and prints the whole point; its sizes (0 to 0) do not matter, since its files are
  // dropped.
  const auto usable = [&](const Choice& choice) {
    const auto [at, fresh] = why_not.try_emplace({choice.result, choice.point});
    if (fresh) {
      if (const auto made = printed(choice, 0, 0); !made) at->second = made.error().what();
      if (!at->second.empty())
        exported.notes.push_back(fmt::format("{}, point {}{}: {}", name_of(results[choice.result].collective),
                                             choice.point, variant.in_place ? " in place" : "", at->second));
    }
    return at->second.empty();
  };
  for (const SizedChoice& each : choices(results, question.bytes, usable)) {
    add_files(printed(each.choice, each.from, each.to), exported);
  }
}

}  // namespace

std::span<const Named<ExportForm>> export_forms() {
  static constexpr std::array<Named<ExportForm>, 8> forms = {
      {{ExportForm::Mscclpp, "mscclpp"},
       {ExportForm::MscclXml, "msccl-xml"},
       {ExportForm::Preload, "preload"},
       {ExportForm::Mpi, "mpi"},
       {ExportForm::Nccl, "nccl"},
       {ExportForm::Cuda, "cuda"},
       {ExportForm::Times, "times"},
       {ExportForm::PipelinedTimes, "pipelined-times"}}};
  return forms;
}

namespace {

// Of all points of a baseline the fastest at each size; with a block of 0 bytes its latency.
JsonText baseline_as_json(const std::string& name, const Result& baseline,
                          const std::vector<std::int64_t>& blocks) {
  const auto us = [&](double block) {
    double best = HUGE_VAL;
    for (const Point& point : baseline.points)
      best = std::min(best, point_us(baseline.topology, point, block));
    return best;
  };
  std::vector<double> times;
  for (const std::int64_t block : blocks) times.push_back(us(static_cast<double>(block)));
  return json_object("name", name, "chunks", baseline.points.front().cost.chunks, "latency_us", us(0), "us",
                     times);
}

// Each with the fewest chunks, one per channel. Trees are pipelines, and may have more; the longest are left
// out.
std::vector<JsonText> baselines_as_json(const Topology& topology, CollectiveKind kind, bool pipelines,
                                        const std::vector<std::int64_t>& blocks) {
  constexpr int kMostSends = 200'000;  // of a tree AllReduce: about two per chunk and rank
  constexpr int kMostPieces = 64;
  std::vector<JsonText> texts;
  for (const ClassicEntry& entry : classic_catalogue()) {
    if (entry.collective != kind) continue;
    const std::string name = name_of(entry.method);
    const std::optional<Result> fewest = classic_if_possible(topology, entry.method, 0);
    if (!fewest) continue;
    texts.push_back(baseline_as_json(name, *fewest, blocks));
    if (!pipelines || (name != "tree_allreduce" && name != "two_tree_allreduce")) continue;
    const int channels = fewest->points.front().cost.chunks;
    for (int pieces = 2; pieces <= kMostPieces && pieces * channels <= kMostSends / (2 * topology.ranks);
         pieces *= 2)
      if (const std::optional<Result> finer = classic_if_possible(topology, entry.method, pieces * channels))
        texts.push_back(baseline_as_json(name, *finer, blocks));
  }
  return texts;
}

// What was measured of MPI's own choice, and of its algorithms one by one.
JsonText measured_as_json(const VerifiedAnswer& answer) {
  std::vector<JsonText> chosen, own;
  for (const MeasuredTime& time : answer.measured)
    if (time.over == "mpi" && time.point == MeasuredTime::kOwn)
      chosen.push_back(json_object("bytes", time.bytes, "us", time.median_us, "least_us", time.least_us));
  for (const auto& [library, algorithm, time] : answer.own)
    own.push_back(json_object("library", library, "algorithm", algorithm, "bytes", time.bytes, "us",
                              time.median_us, "least_us", time.least_us));
  return json_object("chosen", chosen, "own", own);
}

JsonText times_as_json(const std::vector<VerifiedAnswer>& answers, const std::vector<Result>& results,
                       const ExportQuestion& question) {
  const Collective& collective = results.front().collective;
  const Topology& topology = results.front().topology;
  const std::vector<std::int64_t> blocks = blocks_of_sizes(collective, question.bytes);
  std::vector<std::optional<double>> us;
  std::vector<JsonText> measured;
  for (const std::int64_t block : blocks) {
    const auto best = select(results, call_of(collective, static_cast<double>(block)));
    us.push_back(best ? std::optional(best->us) : std::nullopt);
  }
  for (const VerifiedAnswer& answer : answers) measured.push_back(measured_as_json(answer));
  const std::set<int> hosts(answers.front().hosts.begin(), answers.front().hosts.end());
  const bool pipelines = question.form == ExportForm::PipelinedTimes;
  return json_object("collective", name_of(collective), "group", question.place.group, "ranks",
                     topology.ranks, "nodes", std::max<std::size_t>(1, hosts.size()), "buffer_blocks",
                     blocks_of(collective.kind, topology.ranks), "sizes", question.bytes, "blocks", blocks,
                     "us", us, "baselines", baselines_as_json(topology, collective.kind, pipelines, blocks),
                     "measured", measured);
}

// What other programs perform of a result: they send value by value, whatever its switches can.
Result without_switches(Result result, Exported& exported) {
  const std::string able = in_words(abilities_of(result.topology)), name = result.topology.name;
  if (able.empty()) return result;
  exported.notes.push_back(
      fmt::format("{} on {}: by links alone, since files for other programs cannot ask "
                  "its switches, which {}",
                  name_of(result.collective), name, able));
  result = by_links_alone(std::move(result));
  result.topology.name = name;
  return result;
}

// Ranges of messages become bounds of blocks: a block is within `up_to` if its message is within the range.
ReadyPoints ready_points(const std::vector<Result>& results, const std::vector<std::int64_t>& bytes) {
  ReadyPoints ready{.topology = &results.front().topology};
  for (const SizedChoice& each : choices(results, bytes, {}))
    ready.points.push_back({.point = &results[each.choice.result].points[each.choice.point],
                            .up_to = each.to == 0
                                         ? HUGE_VAL
                                         : static_cast<double>(block_of_size(
                                               message_shape(results.front().collective), each.to + 1)) -
                                               1});
  return ready;
}

// The machine comes first, then what is ready for failures, each with the names that ranks have there.
void add_program(const std::vector<Result>& whole, AnswerFile& file, const std::string& name,
                 const ExportQuestion& question, Exported& exported) {
  std::vector<ReadyPoints> ready = {ready_points(whole, question.bytes)};
  ready.front().after = {{}};
  ReadyAfter after;
  if (question.place.group == "all" && question.place.members.empty())
    after = ready_after(file, name, question.place, question.bytes);
  exported.unchecked += after.unchecked;
  std::ranges::move(after.points, std::back_inserter(ready));
  add_files(
      try_compile(ready,
                  question.form == ExportForm::Cuda   ? Target::Cuda
                  : question.form == ExportForm::Nccl ? Target::Nccl
                                                      : Target::Mpi,
                  {.name = fmt::format("{}_{}", file_stem(whole.front().topology, whole.front().collective),
                                       question.place.members.empty() ? question.place.group : "ranks")}),
      exported);
}

}  // namespace

// By the names that specifications give them (jobs/library_spec.cpp); only the group "all" has any. Where
// several answers are for one failure, the first is taken.
ReadyAfter ready_after(AnswerFile& file, const std::string& name, const AnswerPlace& asked,
                       const std::vector<std::int64_t>& bytes) {
  ReadyAfter ready;
  std::set<std::string> known;
  const std::string before = asked.machine + " without ";
  file.each([&](const StoredAnswer& stored) {
    std::vector<const AnswerPlace*> places;
    for (const AnswerPlace& place : stored.places)
      if (place.machine.starts_with(before) && place.group == "all" && place.collective == asked.collective &&
          place.root == asked.root && known.insert(place.machine.substr(before.size())).second)
        places.push_back(&place);
    if (places.empty()) return;
    VerifiedAnswer taken = verified_answer(stored, name);
    refuse_places(stored, taken.result, name);
    ready.unchecked += taken.unchecked;
    ready.results.push_back({by_links_alone(std::move(taken.result))});
    Topology& topology = ready.results.back().front().topology;
    std::vector<ReadyPoints::After> failures;
    for (const AnswerPlace* const place : places)
      failures.push_back({.failure = place->machine.substr(before.size()),
                          .ranks = ranks_at(stored, *place, topology, name)});
    // One program holds the plans for all failures, under the name of the whole machine.
    topology.name = asked.machine;
    ready.points.push_back(ready_points(ready.results.back(), bytes));
    ready.points.back().after = std::move(failures);
  });
  return ready;
}

namespace {

// Has it the order that was asked, its ranks called so (empty: as they are)? A tree over fewer ranks, after
// the failure of one, has other sums whatever it is.
bool adds_alike(const Collective& ready, const std::vector<Rank>& ranks, const Collective& asked) {
  if (ready.order.kind != SumOrder::Kind::Fixed || ready.ranks != asked.ranks)
    return ready.order.kind == asked.order.kind;
  return asked.order ==
         SumOrder{ready.order.kind, ranks.empty() ? ready.order.tree : renumbered(ready.order.tree, ranks)};
}

}  // namespace

ReadyAfter ready_after(const std::string& file, const std::string& machine, const Collective& collective,
                       const std::vector<std::int64_t>& bytes) {
  const AnswerPlace place{.machine = machine,
                          .group = "all",
                          .collective = name_of(collective),
                          .root = is_rooted(collective.kind) ? collective.root : 0};
  ReadyAfter after = ready_after(*open_answers(file, false), file, place, bytes);
  for (std::size_t i = 0; i < after.results.size(); ++i)
    for (const ReadyPoints::After& failure : after.points[i].after)
      if (adds(collective) && !adds_alike(after.results[i].front().collective, failure.ranks, collective))
        throw InputError(file, "its sums are in another order than the one asked",
                         "build it with that order");
  if (after.points.empty())
    throw InputError(file, fmt::format("has no {} of {} after a failure", place.collective, machine),
                     "build it of that machine and collective, with --failures 1");
  return after;
}

Exported export_answers(AnswerFile& file, const std::string& name, const ExportQuestion& question) {
  if (question.place.group.find('/') != std::string::npos)
    throw InputError(name, "the group '" + question.place.group + "' is not a part of the name of a file",
                     "name a level without '/'");
  Exported all;
  std::vector<JsonText> times;  // of each answer
  for (const std::string& group : split(question.place.group, ','))
    for (const std::string& collective : question.collectives) {
      ExportQuestion asked = question;
      asked.place.group = group;
      AnswerPlace& place = asked.place;
      place.collective = collective;
      if (!is_rooted(known_kind(collective))) place.root = 0;  // which is meant for others
      // Copies have no order of sums; asking for one would leave out their answers.
      std::vector<VerifiedAnswer> answers =
          results_at(file, name, place, is_combining(known_kind(collective)) ? question.order : std::nullopt);
      std::vector<Result> results;
      for (const VerifiedAnswer& taken : answers) {
        all.unchecked += taken.unchecked;
        results.push_back(question.form == ExportForm::Preload ? taken.result
                                                               : without_switches(taken.result, all));
      }
      switch (question.form) {
        case ExportForm::Mscclpp:
          add_plans(results, asked, {}, all);
          add_plans(results, asked, {.in_place = true, .ending = "_in_place"}, all);
          break;
        case ExportForm::MscclXml:
          add_plans(results, asked, {}, all);
          break;
        case ExportForm::Preload:
          for (std::size_t i = 0; i < results.size(); ++i)
            all.files.push_back(
                {.path = fmt::format("{}_{}_{}{}.json", file_stem(results[i].topology, results[i].collective),
                                     place.members.empty() ? place.group : "ranks", place.root,
                                     i == 0 ? "" : fmt::format("_{}", i)),
                 .text = to_json(results[i])});
          break;
        case ExportForm::Mpi:
        case ExportForm::Nccl:
        case ExportForm::Cuda:
          add_program(results, file, name, asked, all);
          break;
        case ExportForm::Times:
        case ExportForm::PipelinedTimes:
          times.push_back(times_as_json(answers, results, asked));
          break;
      }
    }
  if (!times.empty()) all.files.push_back({.path = "times.json", .text = json_file("answers", times)});
  if (all.files.empty())
    throw InputError(name, "nothing of that can be written", all.notes.empty() ? "" : all.notes.front());
  return all;
}

}  // namespace chorale
