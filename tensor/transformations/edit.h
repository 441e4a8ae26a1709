// What transformations have in common: access to a program, and the one function that checks their results.
// `where` is the transformation, for its errors: "split avg".
#pragma once

#include <string>
#include <vector>

#include "ir/or_error.h"
#include "tensor/language/workload.h"

namespace chorale {

OrError<const Operation*> operation_for(const Workload&, const std::string& name, const std::string& where);
// Indices in the list of the operations of these names; the name of a kernel stands for all that is in it.
// Sorted. An error for a name that is neither, and for an operation that is named twice.
OrError<std::vector<int>> places_for(const Workload&, const std::vector<std::string>& names,
                                     const std::string& where);
int place(const Workload&, const std::string& name);  // of an operation, which there is

std::vector<std::string> readers(const Workload&, const std::string& name);
bool is_output(const Workload&, const std::string& name);
// Has it a result that is wanted by name: is it read, an output, or in the memory of an input?
bool is_wanted(const Workload&, const Operation&);

// Is it in no kernel, and not overlapped?
bool is_alone(const Operation&);
// Is it the name of an operation, kernel, overlap or size?
bool is_a_name(const Workload&, const std::string& name);
// The name, or name_2, name_3 ... where there is one already.
std::string unused(const Workload&, const std::string& name);

// Errors: the name cannot be that of something new; the operation is done as one with others.
MaybeError check_new_name(const Workload&, const std::string& name, const std::string& where);
MaybeError check_alone(const Operation&, const std::string& where);

// Of operations that both have: those whose types differ.
std::vector<std::string> retyped(const Workload& before, const Workload& after);
// `after` with its types, checked by all rules of workloads. Operations that were there before
// have the type that they had (std::logic_error).
OrError<Workload> rewritten(const Workload& before, Workload after, const std::string& where);

}  // namespace chorale
