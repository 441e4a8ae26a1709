// One function per command, beside its options. Each does its work and returns the requested files, the
// text and the exit code; errors of the user throw InputError before anything is written. A supervisor
// (cli/supervisor.h) enforces the limits of the command, and writes its files.
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
Outcome perform(const OptimizeCommand&, Supervisor&);
Outcome perform(const CompareCommand&, Supervisor&);
Outcome perform(const AlltoallvCommand&, Supervisor&);
Outcome perform(const JobCommand&, Supervisor&);
Outcome perform(const SynthesizeCommand&, Supervisor&);
Outcome perform(const FrontierCommand&, Supervisor&);
Outcome perform(const ComposeCommand&, Supervisor&);
Outcome perform(const CheckCommand&, Supervisor&);
Outcome perform(const ShowCommand&, Supervisor&);
Outcome perform(const RunCommand&, Supervisor&);
Outcome perform(const ClassicCommand&, Supervisor&);
Outcome perform(const BaselineCommand&, Supervisor&);
Outcome perform(const BoundsCommand&, Supervisor&);
Outcome perform(const HierarchyCommand&, Supervisor&);
Outcome perform(const PlaceCommand&, Supervisor&);
Outcome perform(const OrderCommand&, Supervisor&);
Outcome perform(const DesignCommand&, Supervisor&);
Outcome perform(const ReshardCommand&, Supervisor&);
Outcome perform(const EmitCommand&, Supervisor&);
Outcome perform(const SimulateCommand&, Supervisor&);
Outcome perform(const ProgramCommand&, Supervisor&);
Outcome perform(const BenchCommand&, Supervisor&);
Outcome perform(const TransformCommand&, Supervisor&);
Outcome perform(const CompileCommand&, Supervisor&);
Outcome perform(const TuneCommand&, Supervisor&);
Outcome perform(const LibraryCommand&, Supervisor&);
Outcome perform(const CompletionCommand&, Supervisor&);

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
