#include "tensor/tuner/tune.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "ir/error.h"
#include "ir/json_reader.h"
#include "tensor/language/kernels.h"
#include "tensor/transformations/moves.h"
#include "tensor/transformations/transform.h"
#include "tensor/tuner/same_schedule.h"
#include "tensor/tuner/unit_work.h"
#include "tests/kit/refusal.h"
#include "tests/tensor/examples.h"
#include "tests/tensor/random_workload.h"
#include "tests/tensor/switch_prices.h"

namespace chorale::test {
namespace {

constexpr AlphaBeta kTunedLink{.alpha_us = 2, .beta_us_per_byte = 1e-5};

TuneResult tuned(const Workload& workload) {
  return tune(workload, {.prices = switch_prices(workload, kTunedLink)});
}

struct TunedExample {
  std::string name;
  Workload plain;
  TuneResult result;
};
const std::vector<TunedExample>& tuned_examples() {
  static const std::vector<TunedExample> kAll = [] {
    std::vector<TunedExample> all;
    auto examples = small_examples();
    // Three ranks have a hundred schedules of two hops; four have seven hundred, of which not all are tried.
    examples["ring_attention"] = example("ring_attention", {{"S", 3}, {"h", 2}, {"D", 3}}, 3);
    for (const auto& [name, plain] : examples) all.push_back({name, plain, tuned(plain)});
    return all;
  }();
  return kAll;
}

// Sums of integers are exact, and so is all that is made of them, element by element. The norms of LAMB are
// sums of real numbers, in an order that schedules choose. And the bytes that the interpreter moves, which it
// counts as it touches elements, are those that come from shapes: unit by unit.
TEST(Tuner, FindsOnlySchedulesThatMeanTheSame) {
  int units_seen = 0;
  for (const auto& [name, plain, result] : tuned_examples()) {
    const Inputs inputs = made_up_inputs(plain);
    const WorkloadRun wanted = run_with(plain, inputs);
    for (const Candidate& candidate : result.candidates) {
      const WorkloadRun run = run_with(candidate.workload, inputs);
      ASSERT_EQ(difference(plain, wanted, candidate.workload, run, name == "lamb" ? 1e-4 : 0), "")
          << name << ": " << candidate.script;
      const std::vector<UnitWork> counted = unit_work(candidate.workload);
      ASSERT_EQ(counted.size(), run.traffic.size());
      for (std::size_t i = 0; i < counted.size(); ++i, ++units_seen) {
        EXPECT_EQ(counted[i].unit.name, run.traffic[i].name);
        EXPECT_EQ(counted[i].read + counted[i].written, run.traffic[i].read + run.traffic[i].written)
            << name << ": " << candidate.script << ": " << run.traffic[i].name;
      }
    }
  }
  EXPECT_GT(units_seen, 1000);
}

// Of random programs the same, to the bit (tests/tensor/random_workload.h reports why that can be). Where
// operands are broadcast in odd ways the bytes that come from shapes may be more, never less.
TEST(TunerLong, FindsOnlySchedulesThatMeanTheSameOfRandomPrograms) {
  int candidates = 0, units_seen = 0, counted_more = 0;
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    Dice dice(seed);
    const Workload plain = RandomWorkload(dice).make();
    const Inputs inputs = random_inputs(plain, dice);
    const WorkloadRun wanted = run_with(plain, inputs);
    const TuneResult result =
        tune(plain, {.prices = switch_prices(plain, kTunedLink), .most_candidates = 30});
    for (const Candidate& candidate : result.candidates) {
      const WorkloadRun run = run_with(candidate.workload, inputs);
      ASSERT_EQ(difference(plain, wanted, candidate.workload, run), "")
          << "seed " << seed << ": " << candidate.script;
      EXPECT_EQ(transformed(plain, candidate.script), candidate.workload)
          << "seed " << seed << ": " << candidate.script;
      const std::vector<UnitWork> counted = unit_work(candidate.workload);
      for (std::size_t i = 0; i < counted.size(); ++i, ++units_seen) {
        const std::int64_t bytes = counted[i].read + counted[i].written;
        const std::int64_t touched = run.traffic.at(i).read + run.traffic.at(i).written;
        EXPECT_GE(bytes, touched) << "seed " << seed << ": " << candidate.script << ": "
                                  << run.traffic[i].name;
        counted_more += bytes > touched;
      }
      ++candidates;
    }
  }
  fmt::print("{} candidates; of {} units {} are counted with more bytes than they move\n", candidates,
             units_seen, counted_more);
  EXPECT_GT(candidates, 250);
  EXPECT_LT(counted_more, units_seen / 20);
}

TEST(Tuner, SaysHowEachIsMade) {
  for (const auto& [name, workload, result] : tuned_examples()) {
    ASSERT_EQ(result.candidates[0].workload, workload);
    EXPECT_EQ(result.candidates[0].parent, -1);
    for (std::size_t i = 1; i < result.candidates.size(); ++i) {
      const Candidate& candidate = result.candidates[i];
      ASSERT_LT(candidate.parent, static_cast<int>(i));
      const Candidate& parent = result.candidates[candidate.parent];
      EXPECT_EQ(candidate.depth, parent.depth + 1);
      EXPECT_EQ(transformed(workload, candidate.script), candidate.workload) << candidate.script;
      EXPECT_EQ(transformed(parent.workload, candidate.step), candidate.workload) << candidate.step;
    }
  }
}

TEST(Tuner, HasEachScheduleOnce) {
  for (const auto& [name, workload, result] : tuned_examples()) {
    EXPECT_EQ(result.end, TuneEnd::Complete) << name;
    ScheduleBook book;
    std::set<std::string> keys;
    for (const Candidate& candidate : result.candidates)
      EXPECT_TRUE(keys.insert(book.key(candidate.workload)).second) << candidate.script;
    EXPECT_EQ(result.transformations,
              static_cast<int>(result.candidates.size()) - 1 + result.repeated + result.unpriced);
    // These have nothing to be fused or overlapped that could be refused.
    EXPECT_EQ(result.refused == 0, name == "moe" || name == "kv_cache") << name;
  }
}

TEST(SameSchedule, IsSoWhateverNamesAndOrder) {
  const std::string begin =
      "workload w\nranks 2\nTensor x(fp32, [8], Local)\nTensor y(fp32, [8], Replicated)\n";
  const auto key = [&](const std::string& body) {
    static ScheduleBook book;
    return book.key(parse_workload(begin + body, "test"));
  };
  const std::string one = key("a = AllReduce(\"+\", x)\nb = y * 2\nc = a + b\nreturn c\n");
  EXPECT_EQ(one, key("r = y * 2\ns = AllReduce(\"+\", x)\nt = s + r\nreturn t\n"));
  EXPECT_NE(one, key("r = y * 3\ns = AllReduce(\"+\", x)\nt = s + r\nreturn t\n"));
  EXPECT_NE(one, key("r = y * 2\ns = AllReduce(\"max\", x)\nt = s + r\nreturn t\n"));
  EXPECT_NE(one, key("s = AllReduce(\"+\", x)\nkernel k {\nr = y * 2\nt = s + r\n}\nreturn t\n"));
  EXPECT_NE(one, key("a = AllReduce(\"+\", x)\nb = y * 2\nc = a + b\nreturn b, c\n"));
  // Results that differ in a dimension, a shape, or the size that is read only.
  const auto of_matrix = [&](const std::string& made) {
    return key("size P = 3, Q = 5\nTensor m(fp32, [4, 4], Replicated)\na = " + made + "\nreturn a\n");
  };
  const std::vector<std::string> others = {"ReduceAlong(\"+\", m, 0)",
                                           "ReduceAlong(\"+\", m, 1)",
                                           "Narrow(m, 0, 0, 2)",
                                           "Narrow(m, 0, 1, 2)",
                                           "Slice(m, 0)",
                                           "Slice(m, 1)",
                                           "y * P",
                                           "y * Q"};
  std::set<std::string> keys;
  for (const std::string& made : others) EXPECT_TRUE(keys.insert(of_matrix(made)).second) << made;
}

// The paper's schedules (its sections 4 and 6), as scripts, are among what is found from the plain programs.
struct PaperSchedule {
  std::string name, example, script;
};
const std::vector<PaperSchedule>& paper_schedules() {
  const std::string adam = "fuse(opt; avg, m_, v_, m1, v1, p_)";
  const std::string adam_rs = adam + "; split(sum, rs); reorder(sum; opt); asSlice(m); asSlice(v)";
  const std::string lamb =
      "fuse(opt; avg, m_, v_, m1, v1, u, p_norm_1, p_norm_2, u_norm_1, u_norm_2); fuse(step; p_norm, u_norm, "
      "ratio, p_)";
  const std::string lamb_rs = lamb + "; split(sum, rs); reorder(sum; opt, step); asSlice(m); asSlice(v)";
  const std::string attention_rs = "split(sum, rs); reorder(sum; out)";
  static const std::vector<PaperSchedule> kAll = {
      {"AR-SGD", "sgd", "fuse(opt; v_, p_)"},
      {"fuse(RS-SGD-AG)", "sgd",
       "fuse(opt; v_, p_); split(sum, rs); reorder(sum; opt); asSlice(v); fuse(all; rs, s_opt, p_)"},
      {"AR-Adam", "adam", adam},
      {"RS-Adam-AG", "adam", adam_rs},
      {"fuse(RS-Adam-AG)", "adam", adam_rs + "; fuse(all; rs, s_opt, p_)"},
      {"AR-LAMB", "lamb", lamb},
      {"RS-LAMB-AG", "lamb", lamb_rs},
      {"fuse(RS-LAMB-AG)", "lamb", lamb_rs + "; fuse(first; rs, s_opt); fuse(second; step, s_step, p_)"},
      {"MM-AR-C", "self_attention", ""},
      {"MM-RS-C-AG", "self_attention", attention_rs},
      {"ol(MM, fuse(RS-C-AG))", "self_attention",
       attention_rs + "; fuse(all; rs, s_out, out); overlap(ol; layer, all)"},
      {"AR-C-P2P-AG", "pipeline", "shard(sum, ar, s); reorder(sum; send, output); fuse(c; s_send, s_output)"},
      {"RS-C-P2P-AG", "pipeline", "split(sum, rs); reorder(sum; send, output)"},
      {"ol(RS, fuse(C-P2P), AG)", "pipeline",
       "split(sum, rs); reorder(sum; send, output); fuse(c; s_send, s_output); overlap(ol; rs, c, output)"}};
  return kAll;
}

TEST(Tuner, FindsTheSchedulesOfThePaper) {
  for (const PaperSchedule& schedule : paper_schedules()) {
    const auto& [name, plain, result] =
        *std::ranges::find(tuned_examples(), schedule.example, &TunedExample::name);
    ScheduleBook book;
    const std::string wanted = book.key(transformed(plain, schedule.script));
    EXPECT_TRUE(std::ranges::any_of(result.candidates, [&](const Candidate& candidate) {
      return book.key(candidate.workload) == wanted;
    })) << schedule.name;
  }
}

// What is returned stays whole, also where it is state.
TEST(Tuner, LeavesOutputsInTheirLayout) {
  const Workload momentum = parse_workload(
      "workload momentum\nranks 4\nTensor g(fp32, [10], Local)\nTensor m(fp32, [10], Replicated) "
      "state\nTensor v(fp32, [10], Replicated) state\nsum = AllReduce(\"+\", g)\nm_ = Update(m, 0.9 * m + "
      "sum)\nv_ = Update(v, v + m_)\nreturn m_\n",
      "test");
  bool slices = false;
  for (const Candidate& candidate : tuned(momentum).candidates) {
    EXPECT_EQ(operation(candidate.workload, "m_").type, operation(momentum, "m_").type) << candidate.script;
    slices |= candidate.script.find("asSlice(v)") != std::string::npos;
    EXPECT_EQ(candidate.script.find("asSlice(m)"), std::string::npos) << candidate.script;
  }
  EXPECT_TRUE(slices);
}

// 16 ranks that double and halve. An AllReduce of few bytes takes 4 steps where a ReduceScatter and an
// AllGather take 8; with a launch of 4 us and steps of 2, AR-Adam takes 2 * 4 + 4 * 2 us at least, and
// fuse(RS-Adam-AG) 4 + 8 * 2. Of many bytes both move as many, but the fused one reads and writes a quarter
// of them.
WorkloadPrices doubling_prices() {
  WorkloadPrices prices;
  const auto add = [&](OperationKind kind, std::vector<Cost> points) {
    prices.collectives.push_back({.kind = kind, .link = kTunedLink, .points = std::move(points)});
  };
  add(OperationKind::AllReduce, {{.steps = 4, .rounds = 4}, {.steps = 8, .rounds = 30, .chunks = 16}});
  add(OperationKind::ReduceScatter, {{.steps = 4, .rounds = 15}});
  add(OperationKind::AllGather, {{.steps = 4, .rounds = 15}});
  add(OperationKind::Reduce, {{.steps = 4, .rounds = 4}, {.steps = 8, .rounds = 30, .chunks = 16}});
  add(OperationKind::Broadcast, {{.steps = 4, .rounds = 4}, {.steps = 8, .rounds = 30, .chunks = 16}});
  return prices;
}

TEST(Tuner, RanksAdamAsThePaperDoes) {
  const auto best = [](std::int64_t n) {
    const Workload adam = example("adam", {{"N", n}}, 16);
    const TuneResult result = tune(adam, {.prices = doubling_prices()});
    ScheduleBook book;
    const std::string key = book.key(result.candidates[result.ranking[0]].workload);
    for (const PaperSchedule& schedule : paper_schedules())
      if (schedule.example == "adam" && book.key(transformed(adam, schedule.script)) == key)
        return schedule.name;
    return result.candidates[result.ranking[0]].script;
  };
  EXPECT_EQ(best(1 << 10), "AR-Adam");
  EXPECT_EQ(best(1 << 26), "fuse(RS-Adam-AG)");
}

TEST(Tuner, RanksByPriceAndThePlainProgramAmongThem) {
  const TuneResult result = tuned(example("adam", {{"N", 1 << 20}}));
  ASSERT_EQ(result.ranking.size(), result.candidates.size());
  EXPECT_EQ(std::set<int>(result.ranking.begin(), result.ranking.end()).size(), result.candidates.size());
  for (std::size_t i = 1; i < result.ranking.size(); ++i)
    EXPECT_LE(result.candidates[result.ranking[i - 1]].price.us,
              result.candidates[result.ranking[i]].price.us);
}

// Limits narrow what is found, and the result reports it; asking for more never finds another best one that
// is worse.
TEST(Tuner, KeepsWithinItsLimit) {
  const Workload adam = example("adam", {{"N", 1 << 20}});
  TuneOptions options{.prices = switch_prices(adam, kTunedLink)};
  const int all = static_cast<int>(tune(adam, options).candidates.size()) - 1;
  double best = 1e300;
  for (int limit = 0; limit <= all + 1; ++limit) {
    options.most_candidates = limit;
    const TuneResult result = tune(adam, options);
    EXPECT_EQ(static_cast<int>(result.candidates.size()), std::min(limit, all) + 1);
    EXPECT_EQ(result.end, limit < all ? TuneEnd::CandidateLimit : TuneEnd::Complete) << limit;
    EXPECT_EQ(result.candidates[0].workload, adam);
    const double found = result.candidates[result.ranking[0]].price.us;
    EXPECT_LE(found, best);
    best = found;
  }
}

// Five layers have more schedules than are looked at: of one alone there are 20, of which one is the best, so
// of five there are millions. From the cheapest one on the best of each is found all the same.
TEST(Tuner, FindsTheBestOfEachLayerWhereItCannotFindAll) {
  constexpr int kLayers = 5;
  std::string text =
      "workload layers\nranks 4\nsize B = 8, S = 1024, H = 3072\nTensor in1(fp16, [B, S, H], Sliced(2))\n";
  std::string script;
  for (int i = 1; i <= kLayers; ++i) {
    text +=
        fmt::format("Tensor w{0}(fp16, [H, H], Sliced(0))\nTensor r{0}(fp16, [B, S, H], Replicated)\n", i);
    text += fmt::format("layer{0} = MatMul(in{0}, w{0})\nsum{0} = AllReduce(\"+\", layer{0})\n", i);
    text += fmt::format("out{0} = sum{0} + r{0}\nin{1} = Slice(out{0}, 2)\n", i, i + 1);
    script += fmt::format(
        "split(sum{0}, rs{0}); reorder(sum{0}; out{0}; s{0}_); fuse(k{0}; rs{0}, s{0}_out{0}, out{0}); "
        "overlap(ol{0}; layer{0}, k{0})\n",
        i);
  }
  const Workload layers = parse_workload(text + fmt::format("return in{}\n", kLayers + 1), "test");
  const WorkloadPrices prices = switch_prices(layers, kTunedLink);
  const TuneResult result = tune(layers, {.prices = prices, .most_candidates = 600, .breadth_first = 100});
  EXPECT_EQ(result.end, TuneEnd::CandidateLimit);
  EXPECT_LE(result.candidates[result.ranking[0]].price.us,
            price(transformed(layers, script), prices).us * 1.0001);
}

// A LLaMA layer: grouped queries, rotary positions, SwiGLU. Sequence parallelism, each product overlapped
// with its communication, is what 10,000 schedules without parts found, and 1,200 do in parts.
TEST(Tuner, FindsTheScheduleOfALayerPartByPart) {
  const Workload layer = as_written("llama");
  const WorkloadPrices prices = switch_prices(layer, kTunedLink);
  const TuneResult result = tune(layer, {.prices = prices});
  EXPECT_EQ(result.end, TuneEnd::PartByPart);
  EXPECT_EQ(result.parts, 3);  // two AllReduces with what is around them, and the rest
  EXPECT_LT(result.candidates.size(), 1500);
  const std::string sequence_parallel =
      "fuse(comp; n_1, n_2, n); fuse(comp_2; kk_2, vv_2); fuse(comp_3; p_1, p_2, p_3, p_4, p); "
      "fuse(comp_4; y, m_1, m_2, m); split(y_2, rs_y_2, Sliced(1)); reorder(y_2; comp_4, z; s2_); "
      "fuse(s2_comp_4; rs_y_2, s2_comp_4); split(z_5, rs_z_5, Sliced(1)); reorder(z_5; s2_z; s3_); "
      "fuse(fused; rs_z_5, s2_z); fuse(fused; fused, z); overlap(overlapped; z_1, z_3, z_4, fused); "
      "overlap(overlapped_2; m, z_2); overlap(overlapped_3; y_1, s2_comp_4)";
  EXPECT_LE(result.candidates[result.ranking[0]].price.us,
            price(transformed(layer, sequence_parallel), prices).us * 1.0001);
}

TEST(Tuner, StopsWhenItIsTold) {
  const Workload lamb = example("lamb", {{"N", 1 << 20}});
  std::atomic<bool> stop = true;
  TuneOptions options{.prices = switch_prices(lamb, kTunedLink), .stop = &stop};
  EXPECT_EQ(tune(lamb, options).candidates.size(), 1);
  EXPECT_EQ(tune(lamb, options).end, TuneEnd::Interrupted);
  stop = false;
  options.progress = [&](const TuneProgress& progress) { stop = progress.candidates >= 10; };
  const TuneResult some = tune(lamb, options);
  EXPECT_GE(some.candidates.size(), 10);
  EXPECT_LT(some.candidates.size(), 100);
  EXPECT_EQ(some.end, TuneEnd::Interrupted);
}

TEST(Tuner, GivesUpWhatHasNoPrice) {
  const Workload adam = example("adam", {{"N", 1 << 10}}, 16);
  WorkloadPrices prices = doubling_prices();
  std::erase_if(prices.collectives,
                [](const CollectivePrice& price) { return price.kind == OperationKind::Reduce; });
  const TuneResult result = tune(adam, {.prices = prices});
  EXPECT_GT(result.unpriced, 0);
  for (const Candidate& candidate : result.candidates)
    EXPECT_EQ(candidate.script.find("Rooted"), std::string::npos) << candidate.script;
  prices.collectives.clear();
  EXPECT_THROW(tune(adam, {.prices = prices}), InputError);
}

TEST(Tuner, LeavesPointwiseOperationsAloneIfItIsTold) {
  const Workload sgd = example("sgd", {{"N", 37}});
  const TuneResult result = tune(sgd, {.prices = switch_prices(sgd, kTunedLink), .most_fused = 1});
  EXPECT_EQ(result.candidates[1].script.find("fuse(comp"), std::string::npos) << result.candidates[1].script;
  EXPECT_GT(result.candidates.size(), tuned(sgd).candidates.size());
}

// Measured times count before prices. What the model holds for the best one is made slow.
struct Measured {
  TuneResult result;
  std::string log;
  int calls = 0;
};
Measured measured(const Workload& workload, const std::string& log, int count) {
  Measured all;
  TuneOptions options{.prices = switch_prices(workload, kTunedLink),
                      .measured = count,
                      .variations = 0,
                      .log = {"tune.log", log}};
  options.measure = [&](const Candidate& candidate, const Execution&) -> Timing {
    ++all.calls;
    return {.us = 1000.0 - static_cast<double>(candidate.script.size())};
  };
  options.record = [&](const std::string& line) { all.log += line + "\n"; };
  all.result = tune(workload, options);
  return all;
}

std::multiset<std::string> sorted_lines(const std::string& text) {
  std::istringstream in(text);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

TEST(Tuner, RanksWhatWasMeasuredByThat) {
  const Workload adam = example("adam", {{"N", 1 << 20}});
  const Measured run = measured(adam, "", 3);
  EXPECT_EQ(run.calls, 4);  // and the program as it was given
  EXPECT_TRUE(run.result.candidates[0].measured_us.has_value());
  for (int i = 1; i < 4; ++i)
    EXPECT_LE(run.result.candidates[run.result.ranking[i - 1]].measured_us.value(),
              run.result.candidates[run.result.ranking[i]].measured_us.value());
  EXPECT_FALSE(run.result.candidates[run.result.ranking[4]].measured_us.has_value());
}

TEST(Tuner, TakesUpWhatAnEarlierRunMeasured) {
  const Workload adam = example("adam", {{"N", 1 << 20}});
  const Measured first = measured(adam, "", 4), second = measured(adam, first.log, 4);
  EXPECT_EQ(second.calls, 0);
  EXPECT_EQ(second.result.ranking, first.result.ranking);
  EXPECT_EQ(sorted_lines(second.log), sorted_lines(first.log));
  // More are asked for: only those are measured. And a log of a log is as good.
  EXPECT_EQ(measured(adam, second.log, 6).calls, 2);
  // Cut off in the midst of a line, that one is measured again.
  const Measured third = measured(adam, first.log.substr(0, first.log.size() - 5), 4);
  EXPECT_EQ(third.calls, 1);
  EXPECT_EQ(third.result.ranking, first.result.ranking);
}

TEST(Tuner, RefusesTheLogOfAnotherProgram) {
  const Workload adam = example("adam", {{"N", 1 << 20}}), other = example("adam", {{"N", 1 << 21}});
  const std::string log = measured(adam, "", 1).log;
  EXPECT_THROW(measured(other, log, 1), InputError);
  const auto words = [&](const std::string& text) {
    return test::refusal_of([&] { measured(adam, text, 1); });
  };
  EXPECT_EQ(words("what\n"), "tune.log:1:1: is not JSON, or ends too early; check the file");
  const std::string number = std::to_string(std::ranges::count(log, '\n') + 1);
  EXPECT_EQ(words(log + "{\"script\":\"\",}\n"),
            "tune.log:" + number + ":14: is not JSON, or ends too early; check the file");
  EXPECT_TRUE(words(log + "{\"script\":\"\",\"execution\":{},\"with\":\"threads\",\"measured_us\":-1}\n")
                  .starts_with("tune.log:" + number + ": measured_us"));
}

// Times that know what is best: pieces and blocks of one size each, and points with few rounds.
struct Varied {
  TuneResult result;
  std::string log;
  std::vector<Execution> runs;
};
Varied varied(const Workload& workload, const std::string& log, int variations, int most_runs = 1 << 20) {
  Varied all;
  std::atomic<bool> stop = false;
  TuneOptions options{.prices = switch_prices(workload, kTunedLink),
                      .measured = 2,
                      .variations = variations,
                      .values = {.blocks = {512, 1024, 2048, 4096}, .usual_block = 2048},
                      .machine = "made up",
                      .stop = &stop,
                      .log = {"tune.log", log}};
  options.measure = [&](const Candidate& candidate, const Execution& execution) -> Timing {
    all.runs.push_back(execution);
    stop = static_cast<int>(all.runs.size()) >= most_runs;
    double us = 1000 + static_cast<double>(candidate.script.size());
    us += 100 * std::abs(std::log2((execution.block == 0 ? 2048 : execution.block) / 512.0));
    if (execution.pieces.empty()) us += 400;
    for (const ChosenPieces& each : execution.pieces) us += 50 * std::abs(std::log2(each.pieces / 16.0));
    for (const ChosenPoint& each : execution.points) us += 10 * each.cost.steps;
    return {.us = us};
  };
  options.record = [&](const std::string& line) { all.log += line + "\n"; };
  all.result = tune(workload, options);
  return all;
}

TEST(Tuner, VariesTheSettingsOfWhatItMeasures) {
  const Workload attention = example("self_attention", {});
  const Varied run = varied(attention, "", 40);
  const Candidate& best = run.result.candidates[run.result.ranking[0]];
  EXPECT_EQ(best.execution.block, 512);
  ASSERT_EQ(best.execution.pieces.size(), 1);
  EXPECT_EQ(best.execution.pieces[0].pieces, 16);
  for (const Measurement& each : best.measurements) {
    EXPECT_EQ(each.with, "threads");
    EXPECT_LE(*best.measured_us, each.us);
  }
  EXPECT_EQ(best.measurements.front().execution, best.price.execution);
  EXPECT_EQ(run.log.find("\"block\":8192"), std::string::npos);
  // Told not to, it does not; told to do few, it does this many for each of the three.
  EXPECT_EQ(varied(attention, "", 0).runs.size(), 3);
  EXPECT_LE(varied(attention, "", 2).runs.size(), 3 + 3 * 2);
}

TEST(Tuner, TakesUpVariationsWhereTheyEnded) {
  const Workload attention = example("self_attention", {});
  const Varied whole = varied(attention, "", 8);
  EXPECT_EQ(varied(attention, whole.log, 8).runs.size(), 0);
  for (const int most : {1, 3, 5, 9}) {
    const Varied first = varied(attention, "", 8, most);
    EXPECT_EQ(first.runs.size(), most);
    EXPECT_EQ(first.result.end, TuneEnd::Interrupted);
    const Varied second = varied(attention, first.log, 8);
    EXPECT_EQ(second.runs.size() + first.runs.size(), whole.runs.size()) << most;
    EXPECT_EQ(second.result.ranking, whole.result.ranking);
    EXPECT_EQ(second.result.candidates[second.result.ranking[0]].execution,
              whole.result.candidates[whole.result.ranking[0]].execution);
  }
}

// What was measured with something else is kept, and states nothing here; of another machine the log is
// refused.
TEST(Tuner, CountsOnlyWhatWasMeasuredWithTheSame) {
  const Workload adam = example("adam", {{"N", 1 << 20}});
  TuneOptions options{
      .prices = switch_prices(adam, kTunedLink), .measured = 2, .variations = 0, .with = "mpi"};
  int calls = 0;
  options.log = {"tune.log", measured(adam, "", 2).log};
  options.measure = [&](const Candidate&, const Execution&) { return ++calls, Timing{.us = 5000.0 + calls}; };
  const TuneResult result = tune(adam, options);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(result.candidates[0].measurements.size(), 2);
  EXPECT_GT(*result.candidates[0].measured_us, 5000);
  options.machine = "another";
  EXPECT_THROW(tune(adam, options), InputError);
}

TEST(Tuner, RanksWhatFailedLastAndSaysSo) {
  const Workload adam = example("adam", {{"N", 1 << 20}});
  TuneOptions options{.prices = switch_prices(adam, kTunedLink), .measured = 3, .variations = 0};
  std::string log;
  options.record = [&](const std::string& line) { log += line + "\n"; };
  options.measure = [&](const Candidate& candidate, const Execution&) -> Timing {
    if (candidate.script.empty()) return {.us = 7};
    return {.failure = "gives other results"};
  };
  const TuneResult result = tune(adam, options);
  EXPECT_EQ(result.ranking[0], 0);
  int failed = 0;
  for (const Candidate& candidate : result.candidates) failed += candidate.failure == "gives other results";
  EXPECT_EQ(failed, 3);
  for (std::size_t i = result.ranking.size() - 3; i < result.ranking.size(); ++i)
    EXPECT_NE(result.candidates[result.ranking[i]].failure, "");
  EXPECT_EQ(report_of(result, 1 << 20).tables.front().rows.back()[1], "failed");
  // It is tried again.
  options.log = {"tune.log", log};
  options.measure = [&](const Candidate&, const Execution&) { return Timing{.us = 6}; };
  for (const Candidate& candidate : tune(adam, options).candidates) EXPECT_EQ(candidate.failure, "");
}

TEST(OpenSettings, AreThoseThatMeanSomething) {
  const SettingValues values{.blocks = {1, 2}, .channels = {1, 2}};
  const auto kinds = [&](const Workload& workload, const SettingValues& of) {
    std::string text;
    for (const OpenSetting& each : open_settings(workload, switch_prices(workload, kTunedLink), of))
      text += to_json(with_value({}, each, 1)) + "\n";
    return text;
  };
  // AllReduce has three points on a switch for four ranks; the others have one.
  const Workload adam = example("adam", {});
  EXPECT_EQ(kinds(adam, {}), "{\"points\":[{\"operation\":\"sum\",\"cost\":[2,6,4]}]}\n");
  EXPECT_EQ(kinds(transformed(adam, "split(sum, rs)"), values), "{\"block\":2}\n{\"channels\":2}\n");
  // Nothing is added up.
  const Workload moe = transformed(example("moe", {}), "overlap(both; there, up)");
  EXPECT_EQ(kinds(moe, values), "{\"pieces\":[{\"overlap\":\"both\",\"pieces\":2}]}\n{\"channels\":2}\n");
}

TEST(OpenSettings, KnowTheValueOfAnExecution) {
  const OpenSetting block{.kind = OpenSetting::Kind::Block, .numbers = {512, 1024, 2048}, .usual = 1};
  EXPECT_EQ(value_of({}, block), 1);
  EXPECT_EQ(value_of({.block = 512}, block), 0);
  EXPECT_EQ(value_of({.block = 5000}, block), 2);
  const OpenSetting point{.name = "sum", .points = {{.steps = 1, .rounds = 3}, {.steps = 2, .rounds = 2}}};
  EXPECT_EQ(value_of(with_value({}, point, 1), point), 1);
  EXPECT_EQ(value_of(with_value(with_value({}, point, 1), point, 0), point), 0);
}

// Where ranks differ an AllReduce is split to more than the first of them.
TEST(Moves, SplitToTheRootsThatThereAre) {
  const Workload adam = example("adam", {});
  int rooted = 0;
  for (const Move& move : moves(adam, {0, 2, 7}).list)
    rooted += move.script.find("Rooted") != std::string::npos;
  EXPECT_EQ(rooted, 2);  // of four ranks
}

// u and w read the sum, x both, y nothing but w. Behind some of them: what comes of one of the readers, and
// the first few.
TEST(Moves, ReorderBehindParts) {
  const Workload workload = parse_workload(
      "workload w\nranks 4\nTensor g(fp32, [8], Local)\ns = ReduceScatter(\"+\", g)\nsum = AllGather(s)\nu = "
      "sum * 2\nw = sum * 3\nx = u + w\ny = w * 5\nreturn x, y\n",
      "test");
  std::set<std::string> found;
  for (const Move& move : moves(workload).list)
    if (move.script.starts_with("reorder")) found.insert(move.script);
  EXPECT_EQ(found, std::set<std::string>({"reorder(sum; u)", "reorder(sum; w)", "reorder(sum; u, x)",
                                          "reorder(sum; w, x, y)", "reorder(sum; u, w)",
                                          "reorder(sum; u, w, x)", "reorder(sum; u, w, x, y)"}));
}

TEST(Tuner, CannotMeasureEverything) {
  const Workload adam = example("adam", {{"N", 1 << 20}});
  TuneOptions options{.prices = switch_prices(adam, kTunedLink), .measured = 5};
  options.measure = [](const Candidate&, const Execution&) { return Timing(); };
  EXPECT_EQ(tune(adam, options).ranking, tuned(adam).ranking);
}

TEST(TuneResult, IsWrittenForPeopleAndPrograms) {
  const Measured run = measured(example("self_attention", {}), "", 2);
  const std::vector<ReportTable> tables = report_of(run.result, 3).tables;
  EXPECT_EQ(tables.front().rows.size(), 4u);
  EXPECT_TRUE(std::ranges::any_of(tables.front().rows, [](const std::vector<std::string>& row) {
    return row[2].find("overlap(overlapped; layer, fused)") != std::string::npos;
  }));
  EXPECT_NE(tables.back().title.find("by units"), std::string::npos);
  const JsonReader json = parse_json(to_json(run.result), "result");
  EXPECT_EQ(json["workload"].text(), "self_attention");
  EXPECT_EQ(json["candidates"].size(1000), run.result.candidates.size());
  EXPECT_EQ(json["ranking"].at(0).integer(0, 1000), run.result.ranking[0]);
  const JsonReader given = json["candidates"].at(0);
  EXPECT_EQ(given["runs"].size(10), 3);
  EXPECT_TRUE(given.has("measured_us"));
  EXPECT_EQ(given["runs"].at(0)["units"].at(0)["unit"].text(), "layer");
  EXPECT_EQ(given["measurements"].at(0)["with"].text(), "threads");
  EXPECT_EQ(execution_from_json(given["execution"]), run.result.candidates[0].execution);
}

// A second is the aim for each; printed, since machines differ.
TEST(Tuner, ExploresTheExamplesInASecond) {
  for (const char* name :
       {"sgd", "adam", "adam_mixed", "lamb", "self_attention", "mlp", "pipeline", "moe", "attention",
        "swiglu", "sequence_parallel", "moe_top2", "rms_norm", "rms_norm_fp8"}) {
    const TuneResult result = tuned(example(name, {}));
    fmt::print("{:<16} {:>5} schedules {:>7.3f} s\n", name, result.candidates.size(), result.seconds);
    EXPECT_EQ(result.end, TuneEnd::Complete);
    EXPECT_GT(result.candidates.size(), 2);
  }
}

}  // namespace
}  // namespace chorale::test
