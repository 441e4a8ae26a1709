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
  // What is done tile by tile: the member that has their number, and of how many elements rows are that no tile cuts
  // (empty: 1).
  struct Tiles {
    std::string number = {}, row = {};
  };
  const std::map<std::string, Tiles>& tiled() const { return tiled_; }

 private:
  std::string step(const Stage&, const std::string& progress = "");
  std::string communication(const Stage&, const std::string& progress);
  std::string sum_of_scalars(const Stage&) const;
  std::string where_it_is(const TensorType&) const;  // "if (..) " where not all groups have it
  struct LoopText {
    std::string made = {}, run = {}, after = {};  // `run`: of all elements, or of those of a tile
  };
  LoopText loop_text(const Stage&);
  std::string loop(const Stage&);
  std::string send(const Operation&) const;
  std::string call(const Operation&) const;
  std::string factors_of(const Operation&) const;  // of a product: "result, factor, factor"
  std::string shares_of(const Operation&) const;   // of a MatMul: what a rank has of these; is it batched?
  std::string convolution_sides(const Operation&) const;

  // In overlap_source.cpp.
  std::string overlapped(const std::vector<Stage>&);
  std::string tiles(const std::vector<Stage>&, const std::string& progress);
  std::string beside(const std::vector<Stage>&, std::size_t begin, std::size_t product, std::size_t& end);
  std::string turns(const Stage& first, const std::vector<Stage>& products, const Stage& last);
  std::string worker(const std::vector<Stage>& products, int factor, const Operation* brought,
                     const Operation* taken, const std::string& tiles);
  std::string needed_by(const Operation& taken) const;
  int brought_factor(const Stage&, const Stage& product) const;
  std::size_t rows_from(const std::vector<Stage>&, std::size_t begin) const;
  bool passes_rows(const std::vector<Stage>&, std::size_t begin, std::size_t k) const;
  bool is_sent_by_tiles(const std::vector<Stage>&, std::size_t k) const;
  std::string sent_by_tiles(const Stage& made, const Stage& sent);
  bool is_exchange(const Stage&) const;
  bool is_product(const Stage&) const;
  std::size_t tiled_from(const std::vector<Stage>&, std::size_t begin) const;

  const Workload& workload_;
  const WorkloadPlaces& places_;
  std::map<std::string, Tiles> tiled_ = {};
  int loop_count_ = 0;
  std::string steps_ = {}, loops_ = {};
};

std::string names_of(const Workload&, const Stage&);  // of its operations, for comments

}  // namespace chorale
