// Help texts as CLI11 makes them, laid out to the width, with the names of values as their descriptions have
// them.
#pragma once

#include <CLI/CLI.hpp>

namespace chorale {

class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_name(const CLI::Option*, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option*) const override;
  std::string make_option_desc(const CLI::Option*) const override;
  std::string make_option_usage(const CLI::Option*) const override;
  std::string make_subcommand(const CLI::App*) const override;
};

}  // namespace chorale
