// One function a command, one file a function. Each does its work, writes the files that were asked for, and
// says what main is to print and to exit with; what the user got wrong throws InputError before anything is
// written.
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/outcome.h"
#include "ir/error.h"
#include "runtime/transport.h"

namespace chorale {

Outcome perform(const Message&);
Outcome perform(const TopologyCommand&);
Outcome perform(const SynthesizeCommand&);
Outcome perform(const FrontierCommand&);
Outcome perform(const CheckCommand&);
Outcome perform(const ShowCommand&);
Outcome perform(const RunCommand&);
Outcome perform(const ClassicCommand&);
Outcome perform(const BoundsCommand&);
Outcome perform(const HierarchyCommand&);
Outcome perform(const PlaceCommand&);
Outcome perform(const EmitCommand&);
Outcome perform(const ProgramCommand&);
Outcome perform(const BenchCommand&);

// Was this process started by mpirun? And is it the one of those that speaks?
bool started_by_mpirun();
bool speaks();
// What the others do about bad input: nothing, and not before the one that speaks has had time to, since
// mpirun ends all when the first leaves with an error.
Outcome silent_refusal();
// Any rank may be the one that waits in vain, so any says it, but those that do not speak a second later: if
// the one that speaks has something to say, mpirun has ended them by then.
InputError hung(const std::string& command, const Hang&);

}  // namespace chorale
