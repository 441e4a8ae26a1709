// Completion by shells.
#include "cli/option_kinds.h"

namespace chorale {

void completion_options(CLI::App& app, Command& parsed) {
  CLI::App* const completion = command(
      app, "completion", "A script that completes commands, options and names in a shell",
      "Installed packages bring it. Without one, in bash and zsh: source <(chorale completion bash),\n"
      "or zsh there, after compinit; and in fish: chorale completion fish | source.\n" +
          kPlainExitCodes +
          "examples:\n  chorale completion bash > chorale.bash\n"
          "  chorale completion fish > chorale.fish");
  auto completed = values_of<CompletionCommand>(completion, parsed);
  choice<Shell>(completion, "shell", completed->shell,
                {{"bash", Shell::Bash}, {"fish", Shell::Fish}, {"zsh", Shell::Zsh}},
                "The shell that reads it");
  completion->get_option("shell")->required();
}

}  // namespace chorale
