// A loop over the elements of a space (codegen/workload/stages.h) as a struct in C++: `element`, what is done with one, for
// hosts and for device code; a loop over it that a compiler makes vectors of, since its pointers are said not to overlap;
// and the way through the space, in runs along which each operand either advances by one or stays.
#pragma once

#include <string>
#include <vector>

#include "codegen/workload/stages.h"

namespace chorale {

// Where values of a tensor are: a pointer to the first that this rank has (Own), or, where a slice is read or put in a whole
// tensor, to the first of that (Whole).
enum class PlaceKind { Own, Whole };
struct LoopPlace {
  std::string pointer = {};
  PlaceKind kind = PlaceKind::Own;
  bool scattered = false;  // the pointer is one to a Scattered
  auto operator<=>(const LoopPlace&) const = default;
};

struct LoopOptions {
  std::string name = {};           // of the struct
  const Operation* sum = nullptr;  // whose operands the loop is given
};

// What the printer of the whole program knows of names.
class LoopSurroundings {
 public:
  virtual ~LoopSurroundings() = default;
  virtual LoopPlace read_at(const std::string& name, const TensorType& space) const = 0;
  virtual bool is_stored(const std::string& name) const = 0;
  virtual LoopPlace stored_at(const std::string& name) const = 0;
  virtual std::string behind(const std::string& name) const = 0;  // a slice that is a view: its tensor
  virtual std::string sides(const TensorShape&) const = 0;        // "{s.B, s.H}"
  virtual std::string part(const std::string& name) const = 0;    // the Share of a tensor
};

struct PrintedLoop {
  std::string definition = {};  // the struct
  std::string made = {};        // statements that make it, as `loop`
  std::string after = {};       // statements for when all elements are done
};
PrintedLoop printed_loop(const Workload&, const std::vector<int>& operations, const LoopOptions&,
                         const LoopSurroundings&);

}  // namespace chorale
