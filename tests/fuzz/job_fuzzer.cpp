#include "ir/placement.h"
#include "placement/place.h"
#include "tests/fuzz/readers.h"

namespace chorale::fuzz {

void job(std::string_view text) {
  refusing([&] {
    const Job job = job_from_json(text, "input");
    require(job_from_json(to_json(job), "written") == job, "a job does not come back");
    if (job.reductions.size() > 3 || job.axes.size() > 3) return;
    const Level node{.name = "node", .fan_out = 2, .link = {.bandwidth_gbs = 8, .latency_us = 5}};
    const Level gpu{.name = "gpu", .fan_out = 4, .link = {.bandwidth_gbs = 200, .latency_us = 1}};
    rank_placements({.name = "machine", .levels = {node, gpu}, .node_level = 1}, job, {.top = 1});
  });
}

}  // namespace chorale::fuzz
