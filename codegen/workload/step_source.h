// What a workload does as statements of C++, one stage (codegen/workload/stages.h) after the other, or, where it says so,
// several beside each other.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/workload/places.h"

namespace chorale {

class StepPrinter {
 public:
  explicit StepPrinter(const WorkloadPlaces&);

  const std::string& steps() const { return steps_; }  // of all stages
  const std::string& loops() const { return loops_; }  // structs that they need
  // Communications that are done tile by tile: the member that has their number.
  const std::map<std::string, std::string>& tiled() const { return tiled_; }

 private:
  std::string step(const Stage&, const std::string& progress = "");
  std::string communication(const Stage&, const std::string& progress);
  std::string loop(const Stage&);
  std::string send(const Operation&) const;
  std::string call(const Operation&) const;

  // In overlap_source.cpp.
  std::string overlapped(const std::vector<Stage>&);
  std::string tiles(const std::vector<Stage>&, const std::string& progress);
  bool is_exchange(const Stage&) const;
  bool is_product(const Stage&) const;
  std::size_t tiled_from(const std::vector<Stage>&, std::size_t begin) const;

  const Workload& workload_;
  const WorkloadPlaces& places_;
  std::map<std::string, std::string> tiled_ = {};
  int loop_count_ = 0;
  std::string steps_ = {}, loops_ = {};
};

}  // namespace chorale
