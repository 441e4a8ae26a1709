// A loop over the elements of a space (codegen/workload/stages.h) as a struct in C++: `element`, what is done
// with one, for hosts and for device code; for hosts, a loop over it that a compiler vectorizes, since its
// pointers are declared not to overlap; and the traversal of the space, in runs along which each operand
// either advances by one or stays; for kernels, a few elements of such a run at once. It is all values and
// pointers, so that it can be handed to a kernel.
#pragma once

#include <string>
#include <vector>

#include "codegen/workload/stages.h"

namespace chorale {

// Where values of a tensor are: a pointer to the first that this rank has (Own), or, where a slice is read or
// put in a whole tensor, to the first of that (Whole); or one value itself, which no memory has (Value).
enum class PlaceKind { Own, Whole, Value };
struct LoopPlace {
  std::string pointer = {};
  PlaceKind kind = PlaceKind::Own;
  bool scattered = false;  // instead of the pointer, a ScatteredView
  auto operator<=>(const LoopPlace&) const = default;
};

// Of a kernel that goes row by row: over the elements of a row, whose reductions are the row's; or over its
// one value of something.
enum class RowLoop { None, Elements, Value };

struct LoopOptions {
  std::string name = {};           // of the struct
  std::string variable = "loop";   // that holds it
  const Operation* sum = nullptr;  // whose operands the loop is given
  RowLoop row = RowLoop::None;
};

// Names that the printer of the whole program defines.
class LoopSurroundings {
 public:
  virtual ~LoopSurroundings() = default;
  virtual LoopPlace read_at(const std::string& name, const TensorType& space) const = 0;
  virtual bool is_stored(const std::string& name) const = 0;
  virtual LoopPlace stored_at(const std::string& name) const = 0;
  virtual std::string behind(const std::string& name) const = 0;  // a slice that is a view: its tensor
  virtual std::string sides(const TensorShape&) const = 0;        // "{s.B, s.H}"
  virtual std::string part(const std::string& name) const = 0;    // its Share, of a view the slice's
};

struct PrintedLoop {
  std::string definition = {};  // the struct
  std::string made = {};        // statements that make it
  std::string after = {};       // statements for when all elements are done
  std::string members = {};     // of the class: what holds totals meanwhile
};
PrintedLoop printed_loop(const Workload&, const std::vector<int>& operations, const LoopOptions&,
                         const LoopSurroundings&);

}  // namespace chorale
