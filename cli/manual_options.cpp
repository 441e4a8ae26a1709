// Completion by shells, and manual pages.
#include "cli/option_kinds.h"

namespace chorale {

void manual_options(CLI::App& app, Command& parsed) {
  CLI::App* const completion = command(
      app, "completion", "A script that completes commands, options and names in a shell",
      "Installed packages bring it. Without one, in bash and zsh: source <(chorale completion bash),\n"
      "or zsh there, after compinit; and in fish: chorale completion fish | source.\n" +
          kPlainExitCodes +
          "examples:\n  chorale completion bash > chorale.bash\n"
          "  chorale completion fish > chorale.fish");
  auto completed = std::make_shared<CompletionCommand>();
  choice<Shell>(completion, "shell", completed->shell,
                {{"bash", Shell::Bash}, {"fish", Shell::Fish}, {"zsh", Shell::Zsh}},
                "The shell that reads it");
  completion->get_option("shell")->required();
  // Described when the command is parsed: by then all commands are registered.
  completion->final_callback([completed, &app, &parsed] {
    completed->program = described(app);
    parsed = *completed;
  });

  CLI::App* const manual = command(app, "manual", "Write the pages of the manual, one for each command",
                                   "For man: those that packages install were made by this.\n" +
                                       kPlainExitCodes + "example:\n  chorale manual -o man1");
  auto written = std::make_shared<ManualCommand>();
  text(manual, "-o,--output", written->directory, "DIR",
       "Write them there; it is made if it is not there (.)");
  manual->final_callback([written, &app, &parsed] {
    written->program = described(app);
    parsed = *written;
  });
}

}  // namespace chorale
