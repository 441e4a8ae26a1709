// The language embedded in C++: the same workloads as the text form (docs/workloads.md), with the same rules
// and errors.
//
//   Builder b("mean", {.ranks = 4});
//   const Side n = b.size("N", 1 << 20);
//   const Tensor g = b.tensor("g", ElementType::Float32, {n}, local());
//   const Tensor sum = b.all_reduce("sum", ReduceOp::Sum, g);
//   b.returns({b.let("avg", sum / b.world())});
//   const Workload workload = b.finish();
//
// Each operation is typed as it comes: an operation without a type throws InputError there, that names the
// program and the operation.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/term.h"
#include "tensor/language/draft.h"
#include "tensor/language/workload.h"

namespace chorale {

// The result of an operation, or an input, of the builder that made it.
struct Tensor {
  std::string name = {};
};

// Arithmetic on tensors and numbers; nothing is computed before an operation uses it.
struct PointwiseTerm {
  Term term = {};
  PointwiseTerm(double value) : term(number_term(value)) {}
  PointwiseTerm(const Tensor& tensor) : term(operand_term(tensor.name)) {}
  explicit PointwiseTerm(Term given) : term(std::move(given)) {}
};

PointwiseTerm operator+(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm operator-(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm operator*(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm operator/(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm operator-(const PointwiseTerm&);
PointwiseTerm operator<(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm operator<=(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm operator>(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm operator>=(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm equal(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm select(const PointwiseTerm& condition, const PointwiseTerm& then,
                     const PointwiseTerm& otherwise);
PointwiseTerm min(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm max(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm pow(const PointwiseTerm&, const PointwiseTerm&);
PointwiseTerm sqrt(const PointwiseTerm&);
PointwiseTerm exp(const PointwiseTerm&);
PointwiseTerm log(const PointwiseTerm&);
PointwiseTerm tanh(const PointwiseTerm&);
PointwiseTerm abs(const PointwiseTerm&);
PointwiseTerm relu(const PointwiseTerm&);
PointwiseTerm cast(ElementType, const PointwiseTerm&);
PointwiseTerm random(int stream);  // 0 or more
PointwiseTerm index(int dim);      // of each element of the result, along the dimension

TensorLayout replicated();
TensorLayout local();
TensorLayout sliced(int dim);  // or kFlat
TensorLayout rooted(int rank);

// Of a shape: a number, a size of the builder, or a product of them.
struct Side {
  Extent extent = {};
  Side(std::int64_t length) : extent{.factor = length, .value = length} {}
  explicit Side(Extent given) : extent(std::move(given)) {}
};
Side operator*(const Side&, const Side&);

struct BuildOptions {
  int ranks = 2;  // of a group
  int groups = 1;
};
struct InputOptions {
  bool state = false, scattered = false;
  Scope scope = Scope::World;
  int first_group = 0, last_group = -1;  // of Group; -1: the last one that there is
};

class Builder {
 public:
  explicit Builder(const std::string& name, const BuildOptions& = {});

  Side size(const std::string& name, std::int64_t value);
  Tensor tensor(const std::string& name, ElementType, const std::vector<Side>& shape, TensorLayout,
                const InputOptions& = {});
  Tensor scalar(const std::string& name, ElementType, const InputOptions& = {});

  // Pointwise: the formula's value, in an operation of its own; in the memory of an input.
  Tensor let(const std::string& name, const PointwiseTerm&);
  Tensor update(const std::string& name, const Tensor& input, const PointwiseTerm&);
  // Communication that was just added stores its result in the memory of the input: Update(p, AllGather(s)).
  Tensor store(const Tensor& input, const Tensor& result);

  Tensor all_reduce(const std::string& name, ReduceOp, const PointwiseTerm&, Scope over = Scope::World);
  Tensor reduce_scatter(const std::string& name, ReduceOp, const PointwiseTerm&, int dim = kFlat,
                        Scope over = Scope::World);
  Tensor all_gather(const std::string& name, const PointwiseTerm&);
  Tensor reduce(const std::string& name, ReduceOp, const PointwiseTerm&, int root);
  Tensor broadcast(const std::string& name, const PointwiseTerm&);
  Tensor all_to_all(const std::string& name, const PointwiseTerm&);
  Tensor all_to_all_v(const std::string& name, const PointwiseTerm&, const PointwiseTerm& counts,
                      const Side& rows);
  Tensor send(const std::string& name, const PointwiseTerm&, int shift);  // GROUP + shift
  Tensor slice(const std::string& name, const PointwiseTerm&, int dim = kFlat, Scope over = Scope::World);
  Tensor matmul(const std::string& name, const PointwiseTerm&, const PointwiseTerm&);
  Tensor convolution(const std::string& name, const PointwiseTerm& images, const PointwiseTerm& windows,
                     int stride = 1, int padding = 0);
  Tensor reduce_tensor(const std::string& name, ReduceOp, const PointwiseTerm&);
  Tensor norm(const std::string& name, const PointwiseTerm&);
  Tensor transpose(const std::string& name, const PointwiseTerm&, int dim, int other);
  Tensor reshape(const std::string& name, const PointwiseTerm&, const std::vector<Side>& shape);
  Tensor narrow(const std::string& name, const PointwiseTerm&, int dim, const Side& begin,
                const Side& length);
  Tensor concat(const std::string& name, int dim, const std::vector<PointwiseTerm>&);
  Tensor gather_rows(const std::string& name, const PointwiseTerm&, const PointwiseTerm& numbers);
  Tensor scatter_rows(const std::string& name, const PointwiseTerm&, const PointwiseTerm& numbers,
                      const Side& rows);
  Tensor reduce_along(const std::string& name, ReduceOp, const PointwiseTerm&, int dim);
  Tensor mean(const std::string& name, const PointwiseTerm&, int dim);
  Tensor softmax(const std::string& name, const PointwiseTerm&, int dim);
  Tensor rms_norm(const std::string& name, const PointwiseTerm&, const PointwiseTerm& weight, double epsilon);
  Tensor layer_norm(const std::string& name, const PointwiseTerm&, const PointwiseTerm& weight,
                    const PointwiseTerm& bias, double epsilon);

  PointwiseTerm rank();
  PointwiseTerm group();
  PointwiseTerm world();
  PointwiseTerm number(const Side&);  // as an operand
  PointwiseTerm dropout(const PointwiseTerm&, double probability);

  // The operations that `operations` adds are one kernel, or overlapped.
  void kernel(const std::string& name, const std::function<void()>& operations);
  void overlap(const std::string& name, const std::function<void()>& operations);

  void returns(const std::vector<Tensor>&);
  // The workload, checked and typed by inferred().
  Workload finish() const;

 private:
  Tensor add(Operation);
  Tensor add(Operation, const std::vector<PointwiseTerm>& operands);

  Draft draft_ = {};
  int streams_ = 0;  // of dropouts
};

}  // namespace chorale
