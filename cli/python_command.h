// Does commands that are written in Python: modules of the package that is beside this program, in a build
// tree (../python), as installed (../share/chorale/python) and in a wheel (../..). They need Python alone and
// not the package's extension: what they compute they ask this program, which $CHORALE names to them.
#pragma once

#include <string>
#include <vector>

#include "cli/outcome.h"
#include "ir/files.h"

namespace chorale {

class Supervisor;

// `command` is what errors call it; `question` is a JSON object. chorale.MODULE's perform(question) is called
// in this folder, and returns the outcome (python/chorale/command.py). A limit or a signal ends it: the
// outcome that it published last is then reported, with the exit code for that. No limit ends what has no
// supervisor, a small part of a command. The report is also a page where `html` names a file. Throws
// InputError where Python or the package is missing, and for what the module refuses.
Outcome done_in_python(const std::string& command, const std::string& module, const std::string& question,
                       Supervisor* = nullptr, const std::string& html = "");

// The files that the Python package writes for a simulator, of messages by path
// (python/chorale/simulators.py); `target` is one of api/compile.h.
Outcome written_for_simulator(const std::string& target, const std::vector<NamedText>& messages, Supervisor&);

}  // namespace chorale
