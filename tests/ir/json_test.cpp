#include "ir/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>

#include "construct/baselines/classic.h"
#include "ir/block_program.h"
#include "ir/epilogue.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/job_template.h"
#include "ir/json_fields.h"
#include "ir/json_reader.h"
#include "ir/placement.h"
#include "ir/report.h"
#include "pareto/search.h"
#include "tests/kit/refusal.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

TEST(Json, EveryMachineComesBack) {
  for (const CatalogueEntry& entry : topology_catalogue()) {
    const Topology machine = named_topology(entry.example);
    EXPECT_EQ(topology_from_json(to_json(machine), "test"), machine) << entry.example;
    const Topology flat = flatten(machine);
    EXPECT_EQ(topology_from_json(to_json(flat), "test"), flat) << entry.example;
  }
}

TEST(Json, EveryCollectiveComesBack) {
  for (const std::string& name : collective_names()) {
    const Collective collective = make_collective(name, 5, 3, name == "broadcast" ? 2 : 0);
    EXPECT_EQ(collective_from_json(to_json(collective), "test", 5), collective) << name;
  }
  const Collective custom{.custom_name = "mine",
                          .ranks = 4,
                          .chunks_per_block = 2,
                          .combining = true,
                          .chunks = {{.pre = {0, 1}, .post = {2, 3}, .input = 0, .output = 1},
                                     {.pre = {3}, .post = {0}, .input = 1, .output = 0}}};
  EXPECT_EQ(collective_from_json(to_json(custom), "test", 4), custom);
}

// A program's file reports what it performs, root and chunks included.
TEST(Json, EveryProgramComesBackWithItsCollective) {
  const auto comes_back = [](const Collective& collective) {
    const BlockRank rank{.input_chunks = 2, .output_chunks = 2};
    const BlockProgramFile file{
        .collective = collective,
        .program = {
            .name = "p", .collective = collective.kind, .chunks_per_block = 2, .ranks = {rank, rank, rank}}};
    EXPECT_EQ(block_program_from_json(to_json(file.collective, file.program), "test"), file);
  };
  for (const std::string& name : collective_names())
    comes_back(make_collective(name, 3, 2, is_rooted(known_kind(name)) ? 2 : 0));
  comes_back(make_collective("allreduce_by_gather", 3, 2));
  comes_back({.custom_name = "mine",
              .ranks = 3,
              .chunks_per_block = 2,
              .combining = true,
              .chunks = {{.pre = {0, 1}, .post = {2}, .input = 0, .output = 1},
                         {.pre = {2}, .post = {0}, .input = 1, .output = 0}}});
  const auto refusal = [](const std::string& members) {
    return test::refusal_of([&] {
      block_program_from_json(R"({"chorale_program":1,"name":"p","in_place":false,"queue_depth":1,"ranks":)"
                              R"([{"input":1,"output":1,"scratch":0,"blocks":[]}],"chunks_per_block":1,)" +
                                  members + "}",
                              "p.json");
    });
  };
  EXPECT_EQ(refusal(R"("collective":"gather")"), "");
  EXPECT_EQ(refusal(R"("collective":"mine","chunks":[{"pre":[0],"post":[0]}])"), "");
  EXPECT_THAT(refusal(R"("collective":"gather","root":1)"), ::testing::HasSubstr("p.json: root"));
  EXPECT_THAT(refusal(R"("collective":"alltoall","root":0)"), ::testing::HasSubstr("alltoall has no root"));
  EXPECT_THAT(refusal(R"("collective":"gather","combining":true)"),
              ::testing::HasSubstr("p.json: combining"));
  EXPECT_THAT(refusal(R"("collective":"mine")"), ::testing::HasSubstr("unknown name 'mine'"));
  EXPECT_THAT(refusal(R"("collective":"mine","root":0,"chunks":[{"pre":[0],"post":[0]}])"),
              ::testing::HasSubstr("p.json: root"));
  EXPECT_THAT(refusal(R"("collective":"gather","chunks":[{"pre":[0],"post":[0]}])"),
              ::testing::HasSubstr("known collective"));
}

Result some_result() {
  return search_frontier(named_topology("ring:4"), make_collective("broadcast", 4, 1),
                         {.min_chunks = 2, .max_chunks = 3});
}

TEST(Json, EveryResultComesBack) {
  const Result frontier = some_result();
  EXPECT_EQ(result_from_json(to_json(frontier), "test"), frontier);
  const Result sums =
      search_frontier(named_topology("ring:4"), make_collective("allreduce", 4, 1), {.max_chunks = 2});
  EXPECT_EQ(result_from_json(to_json(sums), "test"), sums);
  const Result switched = search_frontier(flatten(named_topology("dgx-a100:1")),
                                          make_collective("allgather", 8, 1), {.max_chunks = 2});
  EXPECT_EQ(result_from_json(to_json(switched), "test"), switched);
}

// Before results stated where the Allgather of an AllReduce begins, and which cable a limit was made of, both
// were found from sends and from names. Files without the fields are read as if they had them.
TEST(Json, OlderResultsHaveTheirBorderAndCables) {
  const std::regex border(R"(, "reduce_scatter_steps": \d+)"), cables(R"(,"cables":\[[^}]*\]\])");
  const auto older = [&](const std::string& text) {
    return std::regex_replace(std::regex_replace(text, border, ""), cables, "");
  };
  const std::string sums = to_json(
      search_frontier(named_topology("ring:4"), make_collective("allreduce", 4, 1), {.max_chunks = 1}));
  ASSERT_NE(older(sums), sums);
  EXPECT_EQ(to_json(result_from_json(older(sums), "older")), sums);
  for (const char* wrong : {"-1", "99999", "\"2\""})
    EXPECT_THROW(result_from_json(
                     std::regex_replace(sums, border, fmt::format(R"(, "reduce_scatter_steps": {})", wrong)),
                     "changed"),
                 InputError)
        << wrong;

  Topology machine{.name = "two leaves", .ranks = 4, .switches = 2};
  for (const auto& [a, b] : {std::pair{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 5}}) {
    machine.links.push_back({.src = a, .dst = b});
    machine.links.push_back({.src = b, .dst = a});
  }
  const Topology flat = flatten(machine);
  const std::string text = to_json(flat);
  ASSERT_NE(older(text), text);
  EXPECT_EQ(topology_from_json(text, "new"), flat);
  EXPECT_EQ(topology_from_json(older(text), "older"), flat);
  // Each rank has a cable to its leaf and one back, and the leaves have one per direction; each is a limit
  // over its routes.
  EXPECT_EQ(flat.limits.size(), 10U);
  for (const SharedLimit& limit : flat.limits) ASSERT_EQ(limit.cables.size(), 1U);
  for (const char* wrong : {"[[0]]", "[[0,1,2]]", "[[0,-1]]", "[0,1]", "{}"})
    EXPECT_THROW(
        topology_from_json(std::regex_replace(text, cables, fmt::format(R"(,"cables":{})", wrong)), "x"),
        InputError)
        << wrong;
}

// What nodes are called comes back, makes no machine another one, and is stated once where a machine has one
// below it.
TEST(Json, LabelsAreForPeople) {
  Topology machine{.name = "pair", .ranks = 2, .links = {{.src = 0, .dst = 1}, {.src = 1, .dst = 0}}};
  const Topology unlabelled = machine;
  machine.labels = {{"GPU", "GPU0"}, {"GPU", "gpu \"1\""}};
  machine.underlay = {.links = machine.links, .routes = {{0}, {1}}};
  const std::string text = to_json(machine);
  EXPECT_EQ(topology_from_json(text, "pair").labels, machine.labels);
  EXPECT_EQ(text.find("labels"), text.rfind("labels")) << text;
  machine.underlay.reset();
  EXPECT_EQ(machine, unlabelled);
  EXPECT_EQ(to_json(unlabelled).find("labels"), std::string::npos);
  EXPECT_EQ(node_kind(machine, 1), "GPU");
  EXPECT_EQ(node_kind(unlabelled, 1), "rank");
  EXPECT_EQ(limit_kind({.name = "NIC out 12"}), "NIC out");
  EXPECT_EQ(limit_kind({.name = "uplink"}), "uplink");
}

// Values of all kinds, by the writers of fields: texts are quoted, lists are lists, nouns objects.
TEST(Json, ObjectsWithoutATypeAreWrittenByFields) {
  const Report report{
      .title = "a \"b\"", .sentences = {"one", "two"}, .tables = {{"t", {{"x"}, {"1"}}, "r"}}};
  EXPECT_EQ(
      json_object("text", report.title, "word", "w", "count", 3, "share", 0.5, "is", true, "none",
                  std::optional<int>(), "list", report.sentences, "report", report)
          .text,
      R"({"text":"a \"b\"","word":"w","count":3,"share":0.5,"is":true,"none":null,"list":["one","two"],)"
      R"("report":{"title":"a \"b\"","sentences":["one","two"],"notes":[],)"
      R"("tables":[{"title":"t","rows":[["x"],["1"]],"kinds":"r"}],"figures":[]}})");
  EXPECT_EQ(
      json_file("rows", std::vector{json_object("a", 1), json_object("a", 2)}, "empty", std::vector<int>()),
      "{\n\"rows\": [\n  {\"a\":1},\n  {\"a\":2}\n],\n\"empty\": []\n}\n");
}

// Whatever is cut off, the reader reports it and nothing else happens.
TEST(Json, NoTruncationIsAccepted) {
  const std::string text = to_json(some_result());
  const std::size_t end = text.find_last_of('}');
  for (std::size_t length = 0; length <= end; length += 13)
    EXPECT_THROW(result_from_json(std::string_view(text).substr(0, length), "test"), InputError) << length;
}

// Any other change is refused or means something; it never ends the program in another way.
TEST(Json, ChangedBytesAreReadOrRefused) {
  const std::string text = to_json(some_result());
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    const std::string with = "0123456789-.eE{}[],:\"nutf \\";
    for (int k = 0; k < 1 + i % 3; ++k) changed[random() % changed.size()] = with[random() % with.size()];
    refused += !test::refusal_of([&] { result_from_json(changed, "test"); }).empty();
  }
  EXPECT_GT(refused, 1000);
}

TEST(Json, ErrorsNameThePlace) {
  const auto said = [](const std::string& text) {
    return test::refusal_of([&] { topology_from_json(text, "mine.json"); }, "accepted");
  };
  const std::string good = to_json(named_topology("line:3"));
  const auto replaced = [&](const std::string& what, const std::string& with) {
    std::string text = good;
    return text.replace(text.find(what), what.size(), with);
  };
  EXPECT_NE(said(replaced("\"dst\":1", "\"dst\":9")).find("mine.json: links[0].dst"), std::string::npos);
  EXPECT_NE(said(replaced("\"bandwidth\":1", "\"bandwidth\":0")).find("links[0].bandwidth"),
            std::string::npos);
  EXPECT_NE(said(replaced("\"bandwidth\":1", "\"bandwidth\":1e3")).find("links[0].bandwidth"),
            std::string::npos);
  EXPECT_NE(said(replaced("\"src\":0,", "")).find("links[0]: 'src' is missing"), std::string::npos);
  EXPECT_NE(said(replaced("\"src\":0", "\"src\":0,\"src\":1")).find("the key 'src' is given twice"),
            std::string::npos);
}

// The library, asked to call back at each element, goes through all of an array after each object in it: two
// million links took minutes. Eight times the links take eight times as long; it was sixty.
TEST(Json, ManyLinksAreReadInLinearTime) {
  const auto seconds = [](int links) {
    std::string text = "{\"topology\":\"many\",\"ranks\":4096,\"links\":[";
    for (int l = 0; l < links; ++l)
      text += fmt::format("{}{{\"src\":{},\"dst\":{}}}", l > 0 ? "," : "", l % 4096,
                          (l % 4096 + 1 + l / 4096) % 4096);
    text += "]}";
    double least = 1e9;
    for (int trial = 0; trial < 3; ++trial) {
      const std::clock_t start = std::clock();  // processor time
      EXPECT_EQ(static_cast<int>(parse_json(text, "many.json")["links"].size(links)), links);
      least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
  };
  EXPECT_LT(seconds(64'000), 25 * seconds(8'000));
}

TEST(Json, EveryHierarchyComesBack) {
  for (const CatalogueEntry& entry : hierarchy_catalogue()) {
    const Hierarchy hierarchy = named_hierarchy(entry.example);
    EXPECT_EQ(hierarchy_from_json(to_json(hierarchy), "test"), hierarchy) << entry.example;
  }
}

TEST(Json, EveryExampleComesBack) {
  int jobs = 0, templates = 0, epilogues = 0, hierarchies = 0, collectives = 0;
  for (const auto& file : std::filesystem::directory_iterator(CHORALE_SOURCE "/examples")) {
    if (file.path().extension() != ".json") continue;
    const std::string text = read_file(file.path().string());
    if (text.find("\"epilogue\"") != std::string::npos) {
      const Epilogue epilogue = epilogue_from_json(text, file.path().string());
      EXPECT_EQ(epilogue_from_json(to_json(epilogue), "test"), epilogue) << file.path();
      ++epilogues;
      continue;
    }
    if (text.find("\"hierarchy\"") != std::string::npos) {
      const Hierarchy hierarchy = hierarchy_from_json(text, file.path().string());
      EXPECT_EQ(hierarchy_from_json(to_json(hierarchy), "test"), hierarchy) << file.path();
      ++hierarchies;
      continue;
    }
    if (text.find("\"collective\"") != std::string::npos) {
      const Collective collective = collective_from_json(text, file.path().string(), 4);
      EXPECT_EQ(collective_from_json(to_json(collective), "test", 4), collective) << file.path();
      ++collectives;
      continue;
    }
    if (text.find("\"machines\"") != std::string::npos || text.find("\"reshard\"") != std::string::npos)
      continue;  // tests/cli/library.py and tests/cli/reshard.py read them
    if (is_job_template(text)) {
      EXPECT_FALSE(job_template_from_json(text, file.path().string()).reductions.empty()) << file.path();
      ++templates;
      continue;
    }
    const Job job = job_from_json(text, file.path().string());
    EXPECT_EQ(job_from_json(to_json(job), "test"), job) << file.path();
    EXPECT_FALSE(job.reductions.empty());
    ++jobs;
  }
  EXPECT_GE(jobs, 2);
  EXPECT_GE(templates, 1);
  EXPECT_GE(epilogues, 1);
  EXPECT_GE(hierarchies, 1);
  EXPECT_GE(collectives, 1);
}

// Deep nesting must not exhaust the stack, nor a huge count the memory.
TEST(Json, HostileSizesAreRefused) {
  EXPECT_THROW(topology_from_json(std::string(200'000, '['), "test"), InputError);
  EXPECT_THROW(topology_from_json(
                   R"({"topology":"x","ranks":2000000000,"switches":0,"links":[],"limits":[]})", "test"),
               InputError);
}

}  // namespace
}  // namespace chorale
