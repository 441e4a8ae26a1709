#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "pages/page.h"
#include "pages/picture.h"
#include "pareto/search.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using nlohmann::json;

json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(open) + open.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

// [7, [0, 255], 3]: a 7, 255 zeros, a 3.
std::vector<long long> spread(const json& column) {
  std::vector<long long> numbers;
  for (const json& each : column)
    if (each.is_array())
      numbers.insert(numbers.end(), each[1].get<std::size_t>(), each[0].get<long long>());
    else
      numbers.push_back(each.get<long long>());
  return numbers;
}
std::vector<long long> sums(const json& column) {
  std::vector<long long> numbers = spread(column);
  std::partial_sum(numbers.begin(), numbers.end(), numbers.begin());
  return numbers;
}

Result broadcast() {
  return search_frontier(named_topology("ring:4"), make_collective("broadcast", 4, 1), {.max_chunks = 2});
}

TEST(Html, HoldsTheResult) {
  const Result result = broadcast();
  const json data =
      data_of(to_html(result, {.bound_rounds = 1, .bound_chunks = 2, .proven_by = {"first", "second"}}));
  EXPECT_EQ(data["topology"]["ranks"], 4);
  EXPECT_EQ(spread(data["topology"]["picture"]["nodes"]["x"]).size(), 4u);
  EXPECT_EQ(data["bound"], (json{1, 2}));
  ASSERT_EQ(data["points"].size(), result.points.size());
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const json& point = data["points"][i];
    EXPECT_EQ(point["schedule"].size(), result.points[i].schedule.steps.size());
    EXPECT_EQ(point["certificate"], i == 0 ? "first" : i == 1 ? "second" : "");
    EXPECT_EQ(point["proven"], result.points[i].proven);
    // Every rank starts with nothing that it needs but the root, and ends with all of it.
    std::vector<long long> complete = spread(point["complete"]);
    EXPECT_NE(complete, spread(point["wanted"]));
    for (const json& step : point["schedule"])
      for (std::size_t r = 0; r < complete.size(); ++r) complete[r] += spread(step["completes"])[r];
    EXPECT_EQ(complete, spread(point["wanted"]));
  }
}

// What is not excluded is drawn under an incumbent, and under nothing that is proven.
TEST(Html, IncumbentsHaveTheirBound) {
  Result result = broadcast();
  result.points[0].on_frontier = result.points[0].proven = true;
  result.points[0].bound = {.rounds = 1, .chunks = 7};
  EXPECT_FALSE(data_of(to_html(result))["points"][0].contains("least"));
  result.points[0].proven = false;
  EXPECT_EQ(data_of(to_html(result))["points"][0]["least"], (json{1, 7}));
  result.points[0].bound = {};  // nothing is known
  EXPECT_FALSE(data_of(to_html(result))["points"][0].contains("least"));
}

TEST(Html, LoadsNothing) {
  const std::string page = to_html(broadcast());
  for (const char* word : {"src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  EXPECT_EQ(page.find("@DATA@"), std::string::npos);
}

TEST(Html, NamesCannotEndTheScript) {
  Result result = broadcast();
  result.topology.name = "</script><script>alert(1)</script> \xff";
  const std::string page = to_html(result);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_EQ(data_of(page)["topology"]["name"].get<std::string>().rfind("</script>", 0), 0u);
}

TEST(Html, TitlesSayWhatIsShown) {
  Result result = broadcast();
  const std::string points = std::to_string(result.points.size());
  const std::string words =
      "ring:4 broadcast: " + points + (points == "1" ? " point" : " points") + " - Chorale";
  EXPECT_EQ(page_title(result), words);
  EXPECT_NE(to_html(result).find("<title>" + words + "</title>"), std::string::npos);

  // Names come from files: no markup, no control characters, and no mark of the template that is filled with
  // data.
  result.topology.name = "a</title><script>alert(1)</script>\x1b@DATA@";
  const std::string page = to_html(result);
  EXPECT_NE(page.find("<title>a&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;\\u001b@DATA@ broadcast"),
            std::string::npos);
  EXPECT_EQ(data_of(page)["topology"]["name"], "a</title><script>alert(1)</script>\\u001b@DATA@");
}

TEST(Html, SaysThatThereIsNoPoint) {
  Result result = broadcast();
  result.points.clear();
  result.complete = false;
  result.stopped = Stopped::TimeLimit;
  const json data = data_of(to_html(result));
  EXPECT_TRUE(data["points"].empty());
  EXPECT_EQ(data["summary"],
            "A block is 1 to 2 chunks. No schedule was found, and none is excluded (time limit).");
  EXPECT_NE(to_html(result).find("<title>ring:4 broadcast: 0 points - Chorale</title>"), std::string::npos);
}

// The way of every send of the page is lines that lead from its source to its destination.
TEST(Html, SendsHaveWays) {
  const Result result =
      search_frontier(flatten(named_topology("hub:4")), make_collective("allgather", 4, 1), {});
  const json data = data_of(to_html(result));
  const json& topology = data["topology"];
  const json& picture = topology["picture"];
  const std::vector<long long> src = sums(topology["links"]["src"]), dst = sums(topology["links"]["dst"]),
                               a = sums(picture["lines"]["a"]), b = sums(picture["lines"]["b"]),
                               lengths = spread(picture["lengths"]), ways = sums(picture["ways"]);
  std::vector<long long> from(lengths.size() + 1, 0);
  std::partial_sum(lengths.begin(), lengths.end(), from.begin() + 1);
  ASSERT_FALSE(data["points"].empty());
  for (const json& step : data["points"][0]["schedule"]) {
    for (const long long sent : sums(step["link"])) {
      const auto link = static_cast<std::size_t>(sent);
      long long at = src[link];
      for (long long w = from[link]; w < from[link + 1]; ++w) {
        const auto line = static_cast<std::size_t>(ways[static_cast<std::size_t>(w)]);
        ASSERT_TRUE(a[line] == at || b[line] == at);
        at = a[line] == at ? b[line] : a[line];
      }
      EXPECT_EQ(at, dst[link]);
    }
  }
}

// What a page shows of a step is what the schedule does: the same sends, whatever their order.
TEST(Html, StepsAreThoseOfTheSchedule) {
  const Result result = broadcast();
  const json data = data_of(to_html(result));
  for (std::size_t p = 0; p < result.points.size(); ++p) {
    const json& drawn = data["points"][p]["schedule"];
    ASSERT_EQ(drawn.size(), result.points[p].schedule.steps.size());
    for (std::size_t s = 0; s < drawn.size(); ++s) {
      const Step& step = result.points[p].schedule.steps[s];
      const std::vector<long long> links = sums(drawn[s]["link"]), chunks = sums(drawn[s]["chunk"]);
      std::vector<std::pair<long long, long long>> shown, sent;
      for (std::size_t i = 0; i < links.size(); ++i) shown.emplace_back(links[i], chunks[i]);
      for (const Send& send : step.sends) sent.emplace_back(send.link, send.chunk);
      std::ranges::sort(sent);
      EXPECT_EQ(shown, sent);
    }
  }
}

// Random machines of 1 to 400 ranks with random schedules of up to a few hundred thousand sends, most of
// which are no schedules of anything: pages were as large as results, 13 MB of dgx-a100:2.
Result random_result(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  Result result;
  Topology& t = result.topology;
  t.name = std::string(static_cast<std::size_t>(pick(1, 3) == 1 ? 50'000 : 5), '<');
  t.ranks = seed % 3 == 0 ? pick(100, 400) : pick(1, 60);
  const int degree = pick(1, t.ranks > 60 && seed % 2 == 0 ? t.ranks : 8);
  std::set<std::pair<Rank, Rank>> pairs;
  for (Rank a = 0; a < t.ranks; ++a) {
    if (t.ranks > 1) pairs.emplace(a, (a + 1) % t.ranks);
    for (int i = 1; i < degree; ++i)
      if (const Rank b = pick(0, t.ranks - 1); a != b) pairs.emplace(a, b);
  }
  for (const auto& [a, b] : pairs) t.links.push_back({.src = a, .dst = b, .bandwidth = pick(1, 3)});
  const bool sums = seed % 2 == 0;
  result.collective = make_collective(sums ? "allreduce" : "allgather", t.ranks, 1);
  for (int p = pick(1, seed % 5 == 0 ? 400 : 6); p > 0 && !t.links.empty(); --p) {
    const int chunks = pick(1, 20), most = seed % 4 == 0 ? 60'000 : 300;
    Point point{.construction = std::string(static_cast<std::size_t>(pick(0, 3) == 0 ? 5'000 : 9), '"'),
                .collective = with_chunks(result.collective, chunks)};
    for (int s = pick(1, 5); s > 0; --s) {
      Step step{.rounds = pick(1, 9)};
      for (int i = pick(1, most); i > 0; --i)
        step.sends.push_back({.chunk = pick(0, static_cast<int>(std::ssize(point.collective.chunks)) - 1),
                              .link = pick(0, static_cast<int>(std::ssize(t.links)) - 1),
                              .reduce = sums});
      point.schedule.steps.push_back(std::move(step));
      if (seed % 5 == 0) break;
    }
    point.cost = {.steps = static_cast<int>(std::ssize(point.schedule.steps)), .rounds = 9, .chunks = chunks};
    result.points.push_back(std::move(point));
  }
  return result;
}

TEST(HtmlLong, PagesAreUnderAMegabyte) {
  bool some_left_out = false, some_whole = false;
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Result result = random_result(seed);
    DrawingWork work(nullptr, 3'000'000);
    const std::string page = to_html(result, {.proven_by = {std::string(100'000, 'x')}}, work);
    EXPECT_LT(page.size(), 1'000'000u) << seed;
    EXPECT_LT(machine_html(result.topology, {}, work).size(), 1'000'000u) << seed;
    const json data = data_of(page);
    EXPECT_EQ(data["point_count"], result.points.size());
    for (std::size_t p = 0; p < data["points"].size(); ++p) {
      const std::size_t drawn = data["points"][p]["schedule"].size(),
                        all = result.points[p].schedule.steps.size();
      EXPECT_LE(drawn, all);
      some_left_out = some_left_out || drawn < all;
      some_whole = some_whole || drawn == all;
    }
  }
  EXPECT_TRUE(some_left_out && some_whole);
}

// After a limit a page draws next to nothing, and is a page.
TEST(Html, DrawsLittleOnceStopped) {
  const std::atomic<bool> stopped = true;
  for (const char* name : {"torus:16x16", "dgx-a100:8", "full:64"}) {
    const Topology t = flatten(named_topology(name));
    DrawingWork work(&stopped);
    static_cast<void>(picture_of(t, work));
    EXPECT_LE(work.taken(), kMaxDrawingWorkOnceStopped) << name;
    DrawingWork none(&stopped, 0, 0);
    static_cast<void>(picture_of(t, none));
    EXPECT_EQ(none.taken(), 0) << name;
  }
  const Result result = random_result(4);
  EXPECT_EQ(data_of(to_html(result, {}, DrawingWork(&stopped, 0, 0)))["point_count"], result.points.size());
}

}  // namespace
}  // namespace chorale
