// One function a command, one file a function. Each does its work, writes the files that were asked for, and
// says what main is to print and to exit with; what the user got wrong throws InputError before anything is
// written. All of it under the eyes of a supervisor (cli/supervisor.h).
#pragma once

#include <string>

#include "cli/options.h"
#include "cli/outcome.h"
#include "ir/error.h"
#include "ir/run_options.h"

namespace chorale {

class Supervisor;

Outcome perform(const Message&, Supervisor&);
Outcome perform(const TopologyCommand&, Supervisor&);
Outcome perform(const ImportCommand&, Supervisor&);
Outcome perform(const DiscoverCommand&, Supervisor&);
Outcome perform(const CalibrateCommand&, Supervisor&);
Outcome perform(const SynthesizeCommand&, Supervisor&);
Outcome perform(const FrontierCommand&, Supervisor&);
Outcome perform(const ComposeCommand&, Supervisor&);
Outcome perform(const CheckCommand&, Supervisor&);
Outcome perform(const ShowCommand&, Supervisor&);
Outcome perform(const RunCommand&, Supervisor&);
Outcome perform(const ClassicCommand&, Supervisor&);
Outcome perform(const BoundsCommand&, Supervisor&);
Outcome perform(const HierarchyCommand&, Supervisor&);
Outcome perform(const PlaceCommand&, Supervisor&);
Outcome perform(const EmitCommand&, Supervisor&);
Outcome perform(const ProgramCommand&, Supervisor&);
Outcome perform(const BenchCommand&, Supervisor&);
Outcome perform(const TransformCommand&, Supervisor&);
Outcome perform(const CompileCommand&, Supervisor&);
Outcome perform(const TuneCommand&, Supervisor&);
Outcome perform(const LibraryCommand&, Supervisor&);
Outcome perform(const CompletionCommand&, Supervisor&);
Outcome perform(const ManualCommand&, Supervisor&);

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
