// What a loop over a space consists of (loop_source.h): its parameters, by what they point
// to and where a run of each begins; what is computed with one element; what is folded. The printers of the
// loop for hosts (loop_source.cpp) and for kernels (loop_kernels.cpp) read
// it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tensor/lowering/stages.h"

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
  const Operation* handed = nullptr;  // whose rows the loop is given one after the other
};

// Names that the printer of the whole program defines.
class LoopSurroundings {
 public:
  virtual ~LoopSurroundings() = default;
  virtual LoopPlace read_at(const std::string& name, const TensorType& space) const = 0;
  virtual bool is_stored(const std::string& name) const = 0;
  virtual LoopPlace stored_at(const std::string& name) const = 0;
  virtual std::string behind(const std::string& name) const = 0;  // a slice that is a view: its tensor
  virtual std::string sides(const TensorShape&) const = 0;        // "{s.of_B, s.of_H}"
  virtual std::string part(const std::string& name) const = 0;    // its Share, of a view the slice's
};

// A parameter of the loop: what it is a pointer or a value of.
struct LoopParameter {
  std::string name = {}, type = {};
  std::string pointer = {};  // member of the struct
  std::string offset = {};   // where a run begins
  bool stays = false;        // along a run: given by value
  bool stored = false;
  bool scattered = false;
  bool is_value = false;   // `pointer` is one
  bool is_handed = false;  // a row of what the loop is given
};

struct LoopContents {
  const Workload& workload;
  const LoopOptions& options;
  const LoopSurroundings& around;
  std::vector<const Operation*> operations = {};
  TensorType space = {};
  std::size_t run_from = 0;  // from this dimension on, operands have all dimensions or none
  std::vector<LoopParameter> parameters = {};
  std::map<std::string, std::string> types = {};   // by operation
  std::map<std::string, std::string> inputs = {};  // name, parameter
  std::vector<std::pair<std::string, std::string>> outputs = {};
  std::map<std::string, std::string> walks = {};  // with kPartOfLoop for the Share of the space
  std::set<int> indices = {};                     // dimensions along which the index is used
  std::vector<const Operation*> folds = {};
  std::string body = {};  // the statements of one element
};

inline constexpr const char* kPartOfLoop = "@part@";

LoopContents loop_contents(const Workload&, const std::vector<int>& operations, const LoopOptions&,
                           const LoopSurroundings&);

std::string part_of(const LoopContents&);  // the Share of its space
bool is_box(const LoopContents&);          // slices along a dimension that is not the first
bool has_span(const LoopContents&);        // do runs end where dimensions do?
bool is_last(const LoopContents&, int dim);
std::string index_along(int dim);            // of where a run begins
std::string fresh(const std::string& name);  // of an operation's value
std::string member(const LoopParameter&);    // of the struct

}  // namespace chorale
