// Libraries: built, looked at, verified, chosen from.
#include "cli/option_kinds.h"

namespace chorale {
namespace {

using Action = LibraryCommand::Action;

std::shared_ptr<LibraryCommand> file_of(CLI::App* sub, Action action) {
  auto options = std::make_shared<LibraryCommand>();
  options->action = action;
  sub->add_option("file", options->file, "A library")->required()->option_text("FILE");
  return options;
}

void build_options(CLI::App* app, Command& parsed) {
  CLI::App* const sub = command(
      *app, "build", "Search for all that a file asks for, and keep the answers",
      "Each answer is kept when it is there: a build that was ended, however it was, goes on where it was.\n"
      "exit codes: 0 all answered, 3 some not, 130 interrupted, 2 bad input\n"
      "example:\n  chorale library build examples/library.json -o mine.db --jobs 2");
  auto options = std::make_shared<LibraryCommand>();
  options->action = Action::Build;
  sub->add_option("spec", options->spec, "What to search for (docs/formats.md)")
      ->required()
      ->option_text("SPEC");
  text(sub, "-o,--output", options->file, "FILE", "The library, made if it is not there");
  integer(sub, "--jobs", options->jobs, 1, 256, "J", "Processes side by side, which share the memory (1)");
  limits(sub, options->limits, " and keep what was answered");
  progress(sub, options->progress);
  sub->final_callback([options, &parsed] {
    if (options->file.empty()) throw InputError("-o", "is missing", "name the library's file");
    parsed = *options;
  });
}

}  // namespace

void library_options(CLI::App& app, Command& parsed) {
  CLI::App* const sub =
      command(app, "library", "Answers for many machines, groups and collectives, in one file",
              kPlainExitCodes +
                  "examples:\n  chorale library build examples/library.json -o mine.db\n"
                  "  chorale library show mine.db");
  sub->require_subcommand(1);
  build_options(sub, parsed);

  CLI::App* const show = command(*sub, "show", "List what is in a library",
                                 kPlainExitCodes + "example:\n  chorale library show mine.db");
  auto shown = file_of(show, Action::Show);
  limits(show, shown->limits, "");
  show->final_callback([shown, &parsed] { parsed = *shown; });

  CLI::App* const verify =
      command(*sub, "verify", "Check every answer again, trusting nothing in the file",
              "exit codes: 0 all accepted, 2 a fault or bad input, 3 undecided within the limits, "
              "130 interrupted\nexample:\n  chorale library verify mine.db");
  auto verified = file_of(verify, Action::Verify);
  conflicts(verify, verified->conflicts);
  limits(verify, verified->limits, " and say what was checked");
  progress(verify, verified->progress);
  verify->final_callback([verified, &parsed] { parsed = *verified; });

  CLI::App* const select = command(
      *sub, "select", "The fastest algorithm of a library for a call",
      kPlainExitCodes +
          "example:\n  chorale library select mine.db dgx-a100:2 allgather --group node --bytes 1K:1G:1024");
  auto selected = file_of(select, Action::Select);
  select->add_option("machine", selected->place.machine, "As it was named when the library was built")
      ->required()
      ->option_text("MACHINE");
  select->add_option("collective", selected->place.collective, "One of " + joined(collective_names()))
      ->required()
      ->option_text("COLLECTIVE");
  text(select, "--group", selected->place.group, "GROUP",
       "Of which ranks: a level of the machine, or all (all)");
  integer(select, "--root", selected->place.root, 0, kMostRank, "N", "Of a collective that has one (0)");
  sizes(select, "--bytes", selected->bytes,
        "For blocks of these sizes: 64K, 1K,3000, or from:to:factor (1M)");
  text(select, "--json", selected->json, "FILE",
       "Write the result of the first size's algorithm there, for emit, run and show; - is standard output");
  limits(select, selected->limits, "");
  select->final_callback([selected, &parsed] { parsed = *selected; });
}

}  // namespace chorale
