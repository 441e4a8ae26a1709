// Programs, and NCCL's own collectives, on GPUs: one process per GPU, started by mpirun. The program has this
// in a library of its own (runtime/parts); without that library it throws InputError.
#pragma once

#include <vector>

#include "ir/collective.h"
#include "ir/program.h"
#include "ir/run_options.h"
#include "ir/verified.h"
#include "runtime/mpi_session.h"

namespace chorale {

class Transport;

// Every process calls this; all get the same rows, as from run_on_mpi. GPUs of a host are assigned to its
// ranks round-robin. A time is from a barrier until the last rank's stream has done the collective. Throws
// InputError where there is no GPU, for sums of 16-bit floats in float32, and for a collective that NCCL does
// not have; Hang that names rank, step and peers. Programs are those for two buffers, in place as well.
std::vector<RunRow> run_on_nccl(MpiSession&, const Verified<Program>&, const RunOptions&,
                                bool in_place = false);
std::vector<RunRow> run_nccl_library(MpiSession&, const Collective&, const RunOptions&,
                                     bool in_place = false);

// The same for a rank of any transport, which brings the ranks together. `host_rank`: among those of its
// machine.
std::vector<RunRow> run_on_nccl(Transport&, int host_rank, const Verified<Program>&, const RunOptions&,
                                bool in_place);
std::vector<RunRow> run_nccl_library(Transport&, int host_rank, const Collective&, const RunOptions&,
                                     bool in_place);

// Does the NCCL that is there have such a collective?
bool nccl_library_has(CollectiveKind);

}  // namespace chorale
