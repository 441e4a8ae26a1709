// CLI11 lays out lines of any length and indents descriptions to one column; the overrides break descriptions
// at the width of the terminal, and show a value by its option_text, so that type_name is free for
// completion.
#include "cli/help.h"

#include <sstream>

#include "cli/layout.h"
#include "cli/terminal.h"
#include "ir/words.h"

namespace chorale {
namespace {

// CLI11 indents every line of it to the column of descriptions.
std::string description(const std::string& text, std::size_t column) {
  return joined(broken(text, text_width() - column), "\n");
}

}  // namespace

// The name of a positional argument is what stands for its value: TOPOLOGY, not topology.
std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  return is_positional ? option->get_option_text() : Formatter::make_option_name(option, false);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  return option->get_positional() ? "" : Formatter::make_option_opts(option);
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return description(option->get_description(), get_column_width());
}

std::string HelpFormatter::make_option_usage(const CLI::Option* option) const {
  const std::string name = option->get_option_text();
  return option->get_required() ? name : "[" + name + "]";
}

std::string HelpFormatter::make_subcommand(const CLI::App* sub) const {
  std::ostringstream out;
  CLI::detail::format_help(out, sub->get_display_name(true),
                           description(sub->get_description(), get_column_width()), get_column_width());
  return out.str();
}

}  // namespace chorale
