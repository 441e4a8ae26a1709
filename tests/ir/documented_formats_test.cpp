// Every JSON example of docs/formats.md is read, so that the page and the readers cannot part.
#include <gtest/gtest.h>

#include "ir/block_program.h"
#include "ir/epilogue.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/placement.h"
#include "pareto/check.h"
#include "semantics/verify_blocks.h"

namespace chorale {
namespace {

std::vector<std::string> examples(const std::string& page) {
  std::vector<std::string> found;
  const std::string open = "```json\n";
  for (std::size_t at = page.find(open); at != std::string::npos; at = page.find(open, at)) {
    at += open.size();
    found.push_back(page.substr(at, page.find("```", at) - at));
  }
  return found;
}

TEST(DocumentedFormats, AreRead) {
  int machines = 0, collectives = 0, results = 0, hierarchies = 0, jobs = 0, programs = 0, epilogues = 0,
      reports = 0;
  for (const std::string& text : examples(read_file(CHORALE_SOURCE "/docs/formats.md"))) {
    if (text.find("\"chorale_program\"") != std::string::npos) {
      const BlockProgramFile file = block_program_from_json(text, "docs/formats.md");
      EXPECT_EQ(block_program_from_json(to_json(file.collective, file.program), "test"), file);
      EXPECT_EQ(violations(file.collective, file.program, {.depth = 1}), std::vector<Fault>());
      ++programs;
    } else if (text.find("\"epilogue\"") != std::string::npos) {
      EXPECT_EQ(text, read_file(CHORALE_SOURCE "/examples/epilogue.json"));
      EXPECT_EQ(epilogue_from_json(text, "docs/formats.md").operands.size(), 3U);
      ++epilogues;
    } else if (text.find("\"chorale_result\"") != std::string::npos) {
      const Result result = result_from_json(text, "docs/formats.md");
      const CheckReport report = check_result(result, "", {});
      EXPECT_TRUE(report.faults.empty()) << report.faults.front();
      ++results;
    } else if (text.find("\"hierarchy\"") != std::string::npos) {
      EXPECT_EQ(devices(hierarchy_from_json(text, "docs/formats.md")), 32);
      ++hierarchies;
    } else if (text.find("\"job\"") != std::string::npos) {
      EXPECT_EQ(job_from_json(text, "docs/formats.md").reductions.size(), 2U);
      ++jobs;
    } else if (text.find("\"chorale_simulate\"") != std::string::npos ||
               text.find("\"chorale_alltoallv\"") != std::string::npos ||
               text.find("\"chorale_baseline\"") != std::string::npos ||
               text.find("\"chorale_failures\"") != std::string::npos ||
               text.find("\"chorale_proofs\"") != std::string::npos) {
      ++reports;  // tests/docs/schemas.py has the form of what is not read
    } else if (text.find("\"topology\"") != std::string::npos) {
      const Topology machine = topology_from_json(text, "docs/formats.md");
      EXPECT_EQ(machine.ranks, 4);
      EXPECT_EQ(machine.links.size(), 12U);
      ++machines;
    } else {
      const Collective collective = collective_from_json(text, "docs/formats.md", 4);
      EXPECT_FALSE(collective.chunks.empty());
      ++collectives;
    }
  }
  EXPECT_EQ(machines, 1);
  EXPECT_EQ(collectives, 2);
  EXPECT_EQ(results, 1);
  EXPECT_EQ(hierarchies, 1);
  EXPECT_EQ(jobs, 1);
  EXPECT_EQ(programs, 2);
  EXPECT_EQ(epilogues, 1);
  EXPECT_EQ(reports, 6);
}

// The page and the code once had different ones.
TEST(DocumentedFormats, LinksHaveTheDocumentedCosts) {
  const Topology machine =
      topology_from_json(R"({"topology": "t", "ranks": 2, "links": [{"src": 0, "dst": 1}]})", "test");
  EXPECT_EQ(machine.links.at(0).alpha_us, 1);
  EXPECT_EQ(machine.links.at(0).beta_us_per_byte, 4e-05);
  EXPECT_NE(read_file(CHORALE_SOURCE "/docs/formats.md").find("those of the machine, else 1 and 4e-05"),
            std::string::npos);
}

}  // namespace
}  // namespace chorale
