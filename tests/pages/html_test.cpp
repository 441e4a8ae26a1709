#include "pages/html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

Result broadcast() {
  return search_frontier(named_topology("ring:4"), make_collective("broadcast", 4, 1), {.max_chunks = 2});
}

TEST(Html, HoldsTheResult) {
  const Result result = broadcast();
  const json data =
      data_of(to_html(result, {.bound_rounds = 1, .bound_chunks = 2, .proven_by = {"first", "second"}}));
  EXPECT_EQ(data["topology"]["ranks"], 4);
  EXPECT_EQ(data["topology"]["picture"]["nodes"].size(), 4u);
  EXPECT_EQ(data["bound"], (json{1, 2}));
  ASSERT_EQ(data["points"].size(), result.points.size());
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const json& point = data["points"][i];
    EXPECT_EQ(point["schedule"].size(), result.points[i].schedule.steps.size());
    EXPECT_EQ(point["certificate"], i == 0 ? "first" : i == 1 ? "second" : "");
    EXPECT_EQ(point["proven"], result.points[i].proven);
    // Every rank starts with nothing that it needs but the root, and ends with all of it.
    EXPECT_EQ(point["progress"].size(), result.points[i].schedule.steps.size() + 1);
    EXPECT_EQ(point["progress"].back(), point["wanted"]);
    EXPECT_NE(point["progress"].front(), point["wanted"]);
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

// Every send of the page has its round, and its way is lines that lead from its source to its destination.
TEST(Html, SendsHaveRoundsAndWays) {
  const Result result =
      search_frontier(flatten(named_topology("hub:4")), make_collective("allgather", 4, 1), {});
  const json data = data_of(to_html(result));
  const json& picture = data["topology"]["picture"];
  ASSERT_FALSE(data["points"].empty());
  for (const json& step : data["points"][0]["schedule"])
    for (const json& send : step["sends"]) {
      ASSERT_EQ(send.size(), 4u);
      EXPECT_LT(send[3].get<int>(), step["rounds"].get<int>());
      const json& link = data["topology"]["links"][send[1].get<int>()];
      int at = link[0].get<int>();
      for (const json& w : picture["ways"][send[1].get<int>()]) {
        const json& line = picture["lines"][w.get<int>()];
        ASSERT_TRUE(line[0] == at || line[1] == at);
        at = line[0] == at ? line[1].get<int>() : line[0].get<int>();
      }
      EXPECT_EQ(at, link[1].get<int>());
    }
}

}  // namespace
}  // namespace chorale
