// Question and outcome are files in a folder of their own, so that neither has a limit of a pipe or of a
// command line. The outcome is a report, and files by name: how wide a terminal is, and how files are
// written, is known here alone.
#include "cli/python_command.h"

#include <fmt/format.h>

#include <filesystem>

#include "api/work_folder.h"
#include "cli/supervisor.h"
#include "ir/error.h"
#include "ir/json_fields.h"
#include "ir/json_reader.h"

namespace chorale {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostParts = 10'000'000;  // of a text
constexpr std::size_t kLongestText = std::size_t{1} << 30;

// sys.path[0] would be the current folder, whose files are none of ours. The extension counts as missing, so
// that all commands work in a build tree that has the program alone.
constexpr const char* kLaunch =
    "import sys; sys.path[0] = sys.argv[1]; sys.modules[\"chorale._chorale\"] = None; "
    "from chorale import command; command.main(sys.argv[2], sys.argv[3])";

fs::path this_program() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error);
}

std::string package_folder(const std::string& command) {
  for (const char* const folder : {"../python", "../share/chorale/python", "../.."}) {
    std::error_code error;
    const fs::path path = fs::weakly_canonical(this_program().parent_path() / folder, error);
    if (!error && fs::exists(path / "chorale/command.py", error)) return path.string();
  }
  throw InputError(command, "needs Chorale's Python package, which is not beside this program",
                   "install Chorale whole, or build it in its folder");
}

struct ReportFields {};  // no form of its own: a list is its elements

// {"refused": ...} or {"exit_code", "report", "notes", "errors", "files": [[path, name in the folder]]}.
Outcome outcome_of(const JsonReader& json, const WorkFolder& folder, const std::string& html) {
  if (json.has("refused")) {
    const std::string why = json["refused"].text(kLongestText);
    const std::size_t colon = why.find(": ");
    throw InputError(why.substr(0, colon),
                     colon == std::string::npos ? "cannot be used" : why.substr(colon + 2));
  }
  Outcome outcome = reported(read_fields<Report>(json["report"], ReportFields()), html);
  outcome.exit_code = json["exit_code"].integer(0, 255);
  outcome.notes = json["notes"].texts(kMostParts, kLongestText);
  outcome.errors = json["errors"].texts(kMostParts, kLongestText);
  for (const JsonReader& file : json["files"].elements(kMostParts))
    deliver(file.at(0).text(kLongestText), folder.text(file.at(1).text(kLongestText)), outcome);
  return outcome;
}

}  // namespace

Outcome done_in_python(const std::string& command, const std::string& module, const std::string& question,
                       Supervisor* supervisor, const std::string& html) {
  const std::string package = package_folder(command);
  if (!has_program("python3"))
    throw InputError(command, "needs Python, which is not here", "install python3");
  const WorkFolder folder(command, "");
  write_file(folder.path() + "/question", question);
  std::error_code error;
  std::string line = fmt::format("cd {} && CHORALE={} exec python3 -c {}",
                                 quoted_for_shell(fs::current_path(error).string()),
                                 quoted_for_shell(this_program().string()), quoted_for_shell(kLaunch));
  for (const std::string& word : {package, module, folder.path()}) line += " " + quoted_for_shell(word);
  const bool done = folder.run(line, supervisor == nullptr ? nullptr : supervisor->stop());
  const Stopped stopped = supervisor == nullptr ? Stopped::No : supervisor->stopped();
  const std::string answer = folder.text("outcome");
  if (!done && stopped == Stopped::No)
    throw InputError(command, "its Python failed: " + folder.complaint(), "python3 has to be 3.9 or newer");
  if (answer.empty() && stopped == Stopped::No)
    throw InputError(command, "its Python wrote no answer",
                     "python3 on the path has to be Python 3.9 or newer");
  if (answer.empty())
    return {.exit_code = exit_code_of(stopped),
            .errors = {fmt::format("nothing was done ({})", name_of(stopped))}};
  Outcome outcome = outcome_of(parse_json(answer, command), folder, html);
  if (!done) outcome.exit_code = exit_code_of(stopped);
  return outcome;
}

Outcome written_for_simulator(const std::string& target, const std::vector<NamedText>& messages,
                              Supervisor& supervisor) {
  std::vector<std::vector<std::string>> points;
  for (const NamedText& each : messages) points.push_back({each.path, each.text});
  return done_in_python("--target " + target, "simulators",
                        json_object("target", target, "points", points).text, &supervisor);
}

}  // namespace chorale
