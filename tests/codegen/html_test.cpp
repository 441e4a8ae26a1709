#include "codegen/pages/html.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "codegen/passes/layout.h"
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
      data_of(to_html(result, {.bound_rounds = 1, .bound_chunks = 2, .best_sizes = {"any", "none"}}));
  EXPECT_EQ(data["topology"]["ranks"], 4);
  EXPECT_EQ(data["topology"]["places"].size(), 4u);
  EXPECT_EQ(data["bound"], (json{1, 2}));
  ASSERT_EQ(data["points"].size(), result.points.size());
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const json& point = data["points"][i];
    EXPECT_EQ(point["schedule"].size(), result.points[i].schedule.steps.size());
    EXPECT_EQ(point["certificate"], result.points[i].certificate);
    EXPECT_EQ(point["proven"], result.points[i].proven);
    // Every rank starts with nothing that it wants but the root, and ends with all of it.
    EXPECT_EQ(point["progress"].size(), result.points[i].schedule.steps.size() + 1);
    EXPECT_EQ(point["progress"].back(), point["wanted"]);
    EXPECT_NE(point["progress"].front(), point["wanted"]);
  }
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

double apart(const Spot& a, const Spot& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

TEST(Layout, KeepsRanksApartAndOnThePaper) {
  for (const char* name :
       {"dgx1", "dgx2", "line:4", "ring:8", "torus:4x4", "hypercube:4", "dgx-a100:2", "full:2", "star:9"}) {
    const Topology t = flatten(named_topology(name));
    const std::vector<Spot> places = layout(t);
    ASSERT_EQ(places.size(), static_cast<std::size_t>(t.ranks));
    for (Rank a = 0; a < t.ranks; ++a) {
      EXPECT_TRUE(places[a].x >= -1e-9 && places[a].x <= 1 + 1e-9) << name;
      EXPECT_TRUE(places[a].y >= -1e-9 && places[a].y <= 1 + 1e-9) << name;
      for (Rank b = 0; b < a; ++b) EXPECT_GT(apart(places[a], places[b]), 0.3 / t.ranks) << name;
    }
  }
}

TEST(Layout, NeighboursAreNear) {
  const std::vector<Spot> places = layout(named_topology("ring:12"));
  for (Rank r = 0; r < 12; ++r)
    EXPECT_LT(apart(places[r], places[(r + 1) % 12]), apart(places[r], places[(r + 4) % 12]));
}

}  // namespace
}  // namespace chorale
