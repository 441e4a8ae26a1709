#include "benchmarks/kit/command_line.h"

#include <CLI/CLI.hpp>

namespace chorale {

using std::string;

CommandLine::CommandLine(const string& description) : app_(std::make_unique<CLI::App>(description)) {}
CommandLine::~CommandLine() = default;

void CommandLine::flag(const string& name, bool& target, const string& help) {
  app_->add_flag(name, target, help);
}
void CommandLine::text(const string& name, string& target, const string& help) {
  app_->add_option(name, target, help);
}
void CommandLine::existing_folder(const string& name, string& target, const string& help) {
  app_->add_option(name, target, help)->check(CLI::ExistingDirectory);
}
void CommandLine::number(const string& name, int& target, const string& help) {
  app_->add_option(name, target, help)->capture_default_str();
}
void CommandLine::number(const string& name, std::int64_t& target, const string& help) {
  app_->add_option(name, target, help)->capture_default_str();
}
void CommandLine::number(const string& name, double& target, const string& help) {
  app_->add_option(name, target, help)->capture_default_str();
}
void CommandLine::positive(const string& name, int& target, const string& help) {
  app_->add_option(name, target, help)->check(CLI::PositiveNumber)->capture_default_str();
}
void CommandLine::positive(const string& name, double& target, const string& help) {
  app_->add_option(name, target, help)->check(CLI::PositiveNumber)->capture_default_str();
}
void CommandLine::list(const string& name, std::vector<string>& target, const string& help) {
  app_->add_option(name, target, help)->delimiter(',');
}
void CommandLine::arguments(const string& name, std::vector<string>& target, const string& help) {
  app_->add_option(name, target, help)->required();
}

std::optional<int> CommandLine::read(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    return app_->exit(error);
  }
}

}  // namespace chorale
