// The launcher of this process, if it is one of several.
#pragma once

#include <string>

#include "cli/outcome.h"
#include "ir/error.h"
#include "ir/hang.h"

namespace chorale {

// Whether this process was started by mpirun; and whether it is the one that prints.
bool started_by_mpirun();
bool speaks();
// The reaction of the other processes to bad input: none, after a delay in which the one that prints reports
// it, since mpirun ends all when the first exits with an error.
Outcome silent_refusal();
// Any rank may be the one that waits in vain, so any rank reports it, but those that do not print wait a
// second first: if the one that prints has something to report, mpirun has ended them by then.
InputError hung(const std::string& command, const Hang&);

}  // namespace chorale
