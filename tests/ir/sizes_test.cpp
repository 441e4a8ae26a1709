// A short text may name any number. What it asks for is bounded before anything is allocated, in one line
// that reports where and what the most is.
#include "ir/sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "bounds/check.h"
#include "codegen/msccl_xml.h"
#include "codegen/mscclpp/read_plan.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "pareto/check.h"
#include "pareto/instance_solver.h"
#include "placement/matrices.h"
#include "semantics/verify.h"
#include "tests/faults.h"
#include "tests/kit/folder.h"
#include "tests/kit/refusal.h"
#include "topology/builders.h"
#include "topology/switches.h"

namespace chorale {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// No longer than a line or two.
template <typename F>
std::string refusal(const F& f) {
  const std::string said = test::refusal_of(f);
  EXPECT_LT(said.size(), 400u);
  return said;
}

// An Alltoall of 4,096 ranks has 16,777,216 chunks, one of 1,024 has 1,048,576.
TEST(Sizes, OfACollective) {
  EXPECT_THAT(refusal([] { make_collective("alltoall", 4096, 1); }), HasSubstr("512 MiB is the most"));
  EXPECT_THAT(refusal([] { make_collective("alltoall", 2147483647, 2147483647); }), HasSubstr("the most"));
  EXPECT_THAT(refusal([] { make_collective("broadcast", 1, 16777216); }), HasSubstr("1280 MiB"));
  EXPECT_THAT(
      refusal([] { collective_from_json(R"({"collective":"alltoall","chunks":1000000})", "c.json", 4096); }),
      AllOf(HasSubstr("c.json: collective"), HasSubstr("1000000 chunks per block for 4096 ranks")));
  const Collective pairs = make_collective("alltoall", 100, 1);
  EXPECT_EQ(pairs.chunks.size(), 10'000u);
  // 10,000 chunks, each with one rank before and one after, in 100 buffers of 100 positions twice.
  EXPECT_EQ(bytes_of(pairs), 64 * 10'000 + 4 * 2 + 8 * 20'000);
  // One set of all ranks, and one rank each; 1,000 outputs of 1,000 positions, and an input.
  EXPECT_EQ(bytes_of(make_collective("allgather", 1000, 1)), 64 * 1000 + 4 * (1 + 1000) + 8 * 1'001'000);
}

// A program reports how large its buffers are; its collective is not built where a block does not fit into
// any.
TEST(Sizes, OfAProgramsCollective) {
  EXPECT_THAT(
      refusal([] {
        block_program_from_json(
            R"({"chorale_program":1,"name":"p","collective":"alltoall","chunks_per_block":500000,"in_place":false,)"
            R"("queue_depth":1,"ranks":[{"input":4,"output":8,"scratch":0,"blocks":[]}]})",
            "p.json");
      }),
      HasSubstr("p.json: chunks_per_block: is more than the 8 chunks of the largest buffer"));
}

TEST(Sizes, OfWhatACollectiveIsCutInto) {
  Collective one{.custom_name = "one", .ranks = 2, .chunks = {{.pre = {0}, .post = {1}}}};
  EXPECT_THAT(refusal([&] { refined(one, 1'000'000'000); }),
              HasSubstr("1000000000 chunks per block for 2 ranks"));
  one.chunks_per_block = 1'000'000;
  EXPECT_THAT(refusal([&] { refined(one, 5); }), HasSubstr("5 chunks of 1000000 in a block"));
}

// Buffers are as long as the largest position, on every rank that has it.
TEST(Sizes, OfPositions) {
  std::string ranks = "0";
  for (int n = 1; n < 4096; ++n) ranks += "," + std::to_string(n);
  const std::string far =
      R"({"collective":"far","chunks":[{"pre":[)" + ranks + R"(],"post":[0],"input":1000000}]})";
  EXPECT_THAT(refusal([&] { collective_from_json(far, "far.json", 4096); }),
              AllOf(HasSubstr("far.json: chunks"), HasSubstr("positions of all buffers")));
}

std::string result_of(const std::string& points, const std::string& claims, int ranks) {
  return R"({"chorale_result":2,"kind":"frontier","topology":{"topology":"t","ranks":)" +
         std::to_string(ranks) +
         R"(,"links":[{"src":0,"dst":1},{"src":1,"dst":0}]},"collective":{"collective":"reducescatter","chunks":1},)"
         R"("space":{"min_chunks":1,"max_chunks":2,"max_steps":null,"max_rounds":null,"extra_rounds":null},)"
         R"("limits":{"conflicts":null,"time_ms":null,"memory_bytes":null},"complete":false,)"
         R"("stopped":"size limit","seconds":0,"points":[)" +
         points + R"(],"openings":[],"claims":[)" + claims + "]}";
}

constexpr const char* kEmptyPoint =
    R"({"steps":0,"rounds":0,"chunks":2,"method":"direct","on_frontier":true,"proven":false,"bound":[0,1],"gap":0,)"
    R"("seconds":0,"does":{"collective":"reducescatter","chunks":2},"schedule":[]})";

// 449 bytes for a ReduceScatter of 4,096 ranks and two chunks per block: counts of all contributions of all
// chunks at all ranks would be 137 GB. Nothing moves, so nothing has to be counted.
TEST(Sizes, OfTheVerifiersState) {
  const Result result = result_from_json(result_of(kEmptyPoint, "", 4096), "r.json");
  EXPECT_THAT(violations(result.topology, result.points[0].collective, result.points[0].schedule, 3),
              SizeIs(3));
  EXPECT_THAT(differences(make_collective("reducescatter", 4096, 2), result.points[0].collective), IsEmpty());
}

// What all points of a result do is held at the same time.
TEST(Sizes, OfAllPoints) {
  std::string points = kEmptyPoint;
  for (int i = 0; i < 20; ++i) points += std::string(",") + kEmptyPoint;
  EXPECT_THAT(refusal([&] { result_from_json(result_of(points, "", 4096), "r.json"); }),
              AllOf(HasSubstr("r.json: points["), HasSubstr("1024 MiB is the most")));
}

// Each number of rounds is in range, and their sum fits into no int.
TEST(Sizes, OfTheRoundsOfASchedule) {
  std::string point = kEmptyPoint;
  point.replace(
      point.find("[]"), 2,
      R"([{"rounds":1000000000,"sends":[]},{"rounds":1000000000,"sends":[]},{"rounds":1000000000,"sends":[]}])");
  EXPECT_THAT(
      refusal([&] { result_from_json(result_of(point, "", 2), "r.json"); }),
      HasSubstr("r.json: points[0].schedule[1].rounds: makes more than 1000000000 rounds of all steps"));
}

// A refutation names any number of steps and rounds; its formula is too large, and the claim undecided.
TEST(Sizes, OfAClaimedFormula) {
  for (const char* claim : {R"("steps":1000000000,"rounds":2)", R"("steps":1,"rounds":1000000000)"}) {
    const Result result = result_from_json(
        result_of("",
                  std::string(R"({"collective":"reducescatter","chunks":1,)") + claim +
                      R"(,"seconds":0,"certificate":{"kind":"refutation","chunk":0,"formula_sha256":"0"}})",
                  2),
        "r.json");
    const CheckReport report = check_result(result, "", {.conflicts = 10});
    EXPECT_EQ(report.undecided, 1) << claim;
  }
  EXPECT_FALSE(
      too_large_to_refute(named_topology("dgx1"), make_collective("allgather", 8, 6),
                          {.collective = CollectiveKind::Allgather, .chunks = 6, .steps = 3, .rounds = 7}));
}

// Rates of a billion chunks a round, and a million rounds: their products fit into no integer.
TEST(Sizes, OfGrowth) {
  Topology pair{.name = "pair", .ranks = 4};
  for (int i = 0; i < 1000; ++i)
    for (Rank n = 0; n < 4; ++n) pair.links.push_back({.src = n, .dst = (n + 1) % 4, .bandwidth = 1'000'000});
  const Claim claim{.collective = CollectiveKind::Broadcast,
                    .steps = 1000,
                    .rounds = 1'000'000,
                    .certificate = {.kind = Certificate::Kind::Growth}};
  EXPECT_THAT(fault(pair, make_collective("broadcast", 4, 1), claim),
              testing::Optional(test::says(Fault::Kind::Claim, "not excluded")));
}

// One walk over the links, however far the ends are apart.
TEST(Sizes, OfADistance) {
  const Topology line = named_topology("line:4096");
  Claim claim{.collective = CollectiveKind::AllReduce,
              .steps = 4094,
              .rounds = kNoSchedule,
              .certificate = {.kind = Certificate::Kind::Distance, .rank = 4095}};
  EXPECT_EQ(fault(line, make_collective("allreduce", 4096, 1), claim), std::nullopt);
  claim.steps = 4095;
  EXPECT_THAT(fault(line, make_collective("allreduce", 4096, 1), claim),
              testing::Optional(test::says(Fault::Kind::Claim, "can reach all")));
}

std::string program(const std::string& sizes, const std::string& instruction) {
  return R"({"chorale_program":1,"name":"p","collective":"allreduce","chunks_per_block":1,"in_place":false,)"
         R"("queue_depth":1,"ranks":[{"input":1,"output":1,)" +
         sizes + R"(,"blocks":[{"send":-1,"recv":-1,"channel":0,"instructions":[)" + instruction + "]}]}]}";
}

TEST(Sizes, OfAProgram) {
  const auto read = [](const std::string& text) {
    return refusal([&] { block_program_from_json(text, "p.json"); });
  };
  EXPECT_EQ(read(program(R"("scratch":1)", R"({"op":"nop"})")), "");
  EXPECT_THAT(read(program(R"("scratch":16777216)", R"({"op":"nop"})")),
              HasSubstr("buffers of 16777218 chunks"));
  const std::string large = R"({"op":"cpy","src":["s",0],"dst":["s",1],"count":16777216})";
  EXPECT_THAT(read(program(R"("scratch":1)", large + "," + large)),
              HasSubstr("moves 33554432 chunks in all"));
  std::string blocks = R"({"send":-1,"recv":-1,"channel":0,"instructions":[]})";
  for (int i = 0; i < 15; ++i) blocks += "," + blocks;  // 32,768, each of which would know about each other
  EXPECT_THAT(read(program(R"("scratch":1)", R"({"op":"nop"}]},)" + blocks +
                                                 R"(,{"send":-1,"recv":-1,"channel":0,"instructions":[)")),
              HasSubstr("has 32770 blocks"));
}

std::string xml(const std::string& attributes, const std::string& steps) {
  return "<algo name=\"x\" ngpus=\"1\" coll=\"allreduce\" " + attributes +
         "><gpu id=\"0\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"1\"><tb id=\"0\" send=\"-1\" recv=\"-1\" "
         "chan=\"0\">" +
         steps + "</tb></gpu></algo>";
}

TEST(Sizes, OfXml) {
  const auto read = [](const std::string& text) { return refusal([&] { msccl_from_xml(text, "x.xml"); }); };
  EXPECT_EQ(read(xml("nchunksperloop=\"1\"", "")), "");
  EXPECT_THAT(read(xml("nchunksperloop=\"16777216\"", "")), HasSubstr("512 MiB is the most"));
  std::string steps;
  for (int s = 0; s < 2; ++s)
    steps += "<step s=\"" + std::to_string(s) +
             "\" type=\"cpy\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"16777216\" "
             "depid=\"-1\" deps=\"-1\"/>";
  EXPECT_THAT(read(xml("nchunksperloop=\"1\"", steps)), HasSubstr("moves 33554432 chunks in all"));
}

// Entities of a document's own stay what they are: those of ten times ten each would be a billion.
TEST(Sizes, OfXmlEntities) {
  std::string text = "<!DOCTYPE a [<!ENTITY e0 \"ha\">";
  for (int i = 1; i < 10; ++i) {
    text += "<!ENTITY e" + std::to_string(i) + " \"";
    for (int k = 0; k < 10; ++k) text += "&e" + std::to_string(i - 1) + ";";
    text += "\">";
  }
  text += "]>" + xml("nchunksperloop=\"1\"", "");
  text.replace(text.find("name=\"x\""), 8, "name=\"&e9;\"");
  EXPECT_EQ(msccl_from_xml(text, "x.xml").program.name, "&e9;");
}

// No reader calls itself for what is nested.
TEST(Sizes, OfNesting) {
  std::string open, close;
  for (int i = 0; i < 200'000; ++i) open += "<a>", close += "</a>";
  EXPECT_THAT(refusal([&] { msccl_from_xml(open, "x.xml"); }), HasSubstr("is not XML"));
  EXPECT_THAT(refusal([&] { msccl_from_xml(open + close, "x.xml"); }), HasSubstr("has no <algo>"));
  EXPECT_THAT(refusal([&] { topology_from_json(std::string(200'000, '['), "t.json"); }),
              HasSubstr("nested deeper"));
  EXPECT_THAT(refusal([&] { topology_from_json(std::string(200'000, '{'), "t.json"); }),
              HasSubstr("nested deeper"));
}

std::string plan(int chunks, const std::string& operation) {
  return R"({"name":"p","collective":"allreduce","protocol":"Simple","inplace":false,"gpus":[{"id":0,"input_chunks":)" +
         std::to_string(chunks) + R"(,"output_chunks":)" + std::to_string(chunks) +
         R"(,"scratch_chunks":0,"channels":[],"remote_buffers":[],"threadblocks":[{"id":0,"channels":[],"ops":[)" +
         operation + "]}]}]}";
}

// Groups and pipelines cut chunks into pieces: a million chunks of a thousand pieces are a billion.
TEST(Sizes, OfAPlan) {
  const auto read = [](const std::string& text) {
    return refusal([&] { mscclpp_from_json(text, "p.json"); });
  };
  const std::string copy =
      R"({"name":"copy","src_buff":[{"type":"i","index":0,"size":1}],"dst_buff":[{"type":"o","index":0,"size":1}])";
  EXPECT_EQ(read(plan(1, copy + "}")), "");
  EXPECT_THAT(read(plan(1 << 20, copy + R"(,"tbg_info":{"tbg_size":1000,"tb_id":0}})")),
              HasSubstr("chunks of 1000 pieces"));
  const std::string pipeline =
      R"({"name":"pipeline","iter_context":{"unit_size":1,"num_chunks":1048576},"ops":[{"name":"nop"},{"name":"nop"}]})";
  EXPECT_THAT(read(plan(1, pipeline)), HasSubstr("instructions"));
}

// 8 axes of 8 on 8 levels of 8: more placements than can be listed.
TEST(Sizes, OfPlacements) {
  Hierarchy hierarchy{.name = "deep"};
  std::vector<Axis> axes;
  for (int i = 0; i < 8; ++i) {
    hierarchy.levels.push_back({.name = "l" + std::to_string(i), .fan_out = 8});
    axes.push_back({"a" + std::to_string(i), 8});
  }
  EXPECT_THAT(refusal([&] { all_matrices(hierarchy, axes, {}); }), HasSubstr("over 1000000 placements"));
  // Axes that stay inside the last level have in one direction each there, if that is large enough.
  Conditions conditions;
  hierarchy.levels.back().fan_out = 8 << 18;
  for (int i = 1; i < 8; ++i) hierarchy.levels[i - 1].fan_out = 1;
  for (int i = 0; i < 7; ++i) conditions.inside.push_back({.axis = i, .level = 6});
  EXPECT_THAT(all_matrices(hierarchy, {axes.begin(), axes.begin() + 7}, conditions), SizeIs(1));
  EXPECT_THAT(refusal([&] {
                require_fitting_axes(hierarchy, std::vector<Axis>(8, {"a", 1 << 24}));
              }),
              HasSubstr("multiply"));
}

TEST(Sizes, OfNamedMachines) {
  for (const char* spec : {"torus:1000000x1000000", "torus:2147483647x2147483647x2147483647", "ring:99999999",
                           "hypercube:31", "full:1000000", "dgx-a100:1000000", "mesh:99999999999x2"})
    EXPECT_NE(refusal([&] { named_topology(spec); }), "") << spec;
  std::string long_one = "torus:2";
  for (int i = 0; i < 100'000; ++i) long_one += "x1";
  EXPECT_NE(refusal([&] { named_topology(long_one); }), "");
  EXPECT_NE(refusal([&] { named_hierarchy("pods:2147483647x2147483647x2147483647"); }), "");
  EXPECT_NE(refusal([&] { named_hierarchy("rack:2147483647x2147483647x2147483647x2147483647"); }), "");
  EXPECT_NE(refusal([&] { named_hierarchy("a100:1000000000"); }), "");
}

// Thirty switches, each linked with each, and one rank that no way comes back to: no route at all, and more
// ways to look for one than there are atoms. So the shortest are looked for, which is quick.
TEST(Sizes, OfWaysThroughSwitches) {
  Topology maze{.name = "maze", .ranks = 2, .switches = 30};
  for (Node a = 2; a < 32; ++a)
    for (Node b = 2; b < 32; ++b)
      if (a != b) maze.links.push_back({.src = a, .dst = b});
  maze.links.push_back({.src = 0, .dst = 2});
  EXPECT_TRUE(flatten(maze).links.empty());
  maze.links.push_back({.src = 31, .dst = 1});
  EXPECT_EQ(flatten(maze).links.size(), 1U);
  EXPECT_EQ(flatten(maze).underlay.value().routes, (std::vector<std::vector<LinkId>>{{870, 28, 871}}));
}

TEST(Sizes, OfFiles) {
  const test::Folder folder;
  const std::filesystem::path large = folder.path() / "large";
  std::ofstream(large).put('x');
  std::filesystem::resize_file(large, (std::uintmax_t{1} << 30) + 1);  // a hole: takes no room
  EXPECT_THAT(refusal([&] { read_file(large.string()); }), HasSubstr("more than 1 GiB"));
  EXPECT_THAT(refusal([] { read_file("/dev/zero"); }), HasSubstr("is a device"));
}

// What is no JSON at all is told from JSON that ends too early.
TEST(Sizes, WhatATextSeemsToBe) {
  const auto said = [](const std::string& text) { return refusal([&] { topology_from_json(text, "f"); }); };
  EXPECT_THAT(said(""), HasSubstr("is empty"));
  EXPECT_THAT(said(" \n"), HasSubstr("is empty"));
  EXPECT_THAT(said("<?xml version=\"1.0\"?>\n<!-- by <system> -->\n<algo name=\"x\">"),
              AllOf(HasSubstr("MSCCL algorithm"), HasSubstr("'chorale program FILE'")));
  EXPECT_THAT(
      said("<system version=\"1\"><cpu/></system>"),
      HasSubstr("NCCL's description of a machine, not JSON; 'chorale topology import FILE' reads it"));
  EXPECT_THAT(said("<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\">"),
              HasSubstr("hwloc's"));
  EXPECT_THAT(said("<html></html>"), HasSubstr("is XML, not JSON"));
  EXPECT_THAT(said("<!-- never closed"), HasSubstr("is XML, not JSON"));
  EXPECT_THAT(said(std::string("\x7f"
                               "ELF\x02\x01",
                               6)),
              HasSubstr("is a program or library"));
  EXPECT_THAT(said("\x1f\x8b\x08"), HasSubstr("gzip"));
  EXPECT_THAT(said(std::string("PK\0\0", 4)), HasSubstr("is binary"));
  EXPECT_THAT(said("{\"topology\": "), HasSubstr("ends too early"));
  EXPECT_THAT(refusal([] { msccl_from_xml("<system/>", "f"); }),
              HasSubstr("NCCL's description of a machine"));
}

}  // namespace
}  // namespace chorale
