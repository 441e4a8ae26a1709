// The stages of a workload as statements of C++, one stage (stages.h) after the other, or,
// if marked so, several overlapped.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tensor/lowering/loop_source.h"
#include "tensor/lowering/places.h"

namespace chorale {

class StepPrinter {
 public:
  explicit StepPrinter(const WorkloadPlaces&);

  const std::string& steps() const { return steps_; }  // of all stages
  // Whether a communication and a worker wait for each other, by pieces.
  bool is_beside(const std::string& name) const { return beside_.contains(name); }
  const std::string& loops() const { return loops_; }      // structs that they need
  const std::string& members() const { return members_; }  // of the class, for totals
  // What is done tile by tile: the member that has their number, and of how many elements rows are that no
  // tile cuts (empty: 1).
  struct Tiles {
    std::string number = {}, row = {};
  };
  const std::map<std::string, Tiles>& tiled() const { return tiled_; }

 private:
  // A stage that may stand beside others in one kernel: a loop, or a communication with what follows its
  // sums.
  struct Phase {
    std::string before = {};     // statements for when the phases before are done
    std::string made = {};       // statements that may come before all phases
    std::string arguments = {};  // of the communication, or the loop
    std::string totals = {};     // statements for when the kernel is done
    std::string unpacked = {};   // how blocks are filled, or emptied, while it goes on
  };

  std::string step(const Stage&, const std::string& progress = "");
  Phase communication(const Stage&, const std::string& variable);
  // Prints the struct of a loop, which gets the next number.
  PrintedLoop added_loop(const std::vector<int>& operations, LoopOptions);
  Phase loop(const Stage&, const std::string& variable);
  struct RowLoops {
    std::string made = {}, sides = {}, loops = {};  // `sides`: how many rows, and their length
  };
  RowLoops row_loops(const Stage&);
  // In rows_source.cpp: rows by themselves, and with a communication that hands them over.
  std::string rows(const Stage&);
  std::string rows(const Stage&, const Phase&, const std::string& progress);
  std::string moved(const Operation&) const;  // in rows_source.cpp
  std::string along(const Operation&) const;
  std::string reduction(const Operation&) const;  //
  std::string sum_of_scalars(const Stage&) const;
  std::string single(const Stage&, const std::string& progress);
  std::string chain(const std::vector<Stage>&, std::size_t& begin);
  std::string plain(const std::vector<Stage>&);
  const Tiles* tiles_of(const std::string& name) const;  // null: it is done as a whole
  struct LoopText {
    std::string made = {}, run = {}, after = {};  // `run`: of all elements, or of those of a tile
  };
  LoopText loop_text(const Stage&);
  std::string factors_of(const Operation&) const;  // of a product: "result, factor, factor"
  std::string shares_of(const Operation&) const;   // of a MatMul: what a rank has of these; is it batched?
  std::string convolution_sides(const Operation&) const;
  bool keeps_operand(const Operation&) const;
  std::string kept(const Operation&, const std::string& input) const;
  std::string send(const Operation&) const;
  std::string rows_by_counts(const Operation&) const;  // AllToAllV
  std::string call(const Operation&) const;

  // In overlap_source.cpp.
  std::string overlapped(const std::vector<Stage>&);
  const Stage* moved_beside(const std::vector<Stage>&) const;
  std::string beside_all(const Stage& moved, const std::vector<Stage>&);
  std::string where_tiles(const std::string& beside, const std::vector<Stage>&);
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
  std::string with_tiles_sent(const std::vector<Stage>& kernel);
  bool is_exchange(const Stage&) const;
  bool is_product(const Stage&) const;
  std::size_t tiled_from(const std::vector<Stage>&, std::size_t begin) const;

  const Workload& workload_;
  const WorkloadPlaces& places_;
  std::map<std::string, Tiles> tiled_ = {};
  bool is_plain_ = false;  // as for devices that do no communications tile by tile
  int loop_count_ = 0;
  std::set<std::string> beside_ = {};  // communications
  std::string steps_ = {}, loops_ = {}, members_ = {};
};

std::string names_of(const Workload&, const Stage&);  // of its operations, for comments

}  // namespace chorale
