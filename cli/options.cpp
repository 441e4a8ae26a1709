#include "cli/options.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "cli/option_kinds.h"

namespace chorale {
namespace {

constexpr const char* kVersion = "chorale 0.1.0";
constexpr const char* kSeeHelp = "see 'chorale --help'";

int edit_distance(const Text& a, const Text& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j)
      diagonal = std::exchange(row[j + 1], std::min({row[j + 1] + 1, row[j] + 1, diagonal + (a[i] != b[j])}));
  }
  return row.back();
}

// CLI11 would only say that an argument was not expected.
void require_known_command(const CLI::App& app, const Text& first) {
  Text nearest;
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (sub->get_name() == first) return;
    if (nearest.empty() || edit_distance(first, sub->get_name()) < edit_distance(first, nearest))
      nearest = sub->get_name();
  }
  const bool near = edit_distance(first, nearest) <= 3;
  throw InputError("'" + first.substr(0, 60) + "'", "unknown command",
                   near ? "did you mean '" + nearest + "'?" : Text(kSeeHelp));
}

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  Command parsed;
  CLI::App app("Provably best collective communication algorithms for your machine.", "chorale");
  app.set_version_flag("--version", kVersion);
  app.require_subcommand(1);
  search_options(app, parsed);
  program_options(app, parsed);
  placement_options(app, parsed);
  if (argc > 1 && argv[1][0] != '-') require_known_command(app, argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    std::ostringstream out, unused;
    app.exit(help, out, unused);
    return Message{out.str()};
  } catch (const CLI::ParseError& error) {
    throw InputError("command line", error.what(), kSeeHelp);
  }
  return parsed;
}

}  // namespace chorale
