// The command line of a benchmark. CLI11 is headers alone, and what they define was three quarters of the
// code of each program; so it is compiled once, behind this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace chorale {

// Targets keep their values where an option is not given, and must outlive read().
class CommandLine {
 public:
  explicit CommandLine(const std::string& description);
  ~CommandLine();

  void flag(const std::string& name, bool& target, const std::string& help);
  void text(const std::string& name, std::string& target, const std::string& help);
  void existing_folder(const std::string& name, std::string& target, const std::string& help);
  void number(const std::string& name, int& target, const std::string& help);
  void number(const std::string& name, std::int64_t& target, const std::string& help);
  void number(const std::string& name, double& target, const std::string& help);
  void positive(const std::string& name, int& target, const std::string& help);
  void positive(const std::string& name, double& target, const std::string& help);
  // Several words, as arguments of their own or separated by commas.
  void list(const std::string& name, std::vector<std::string>& target, const std::string& help);
  // At least one is required; a comma separates nothing.
  void arguments(const std::string& name, std::vector<std::string>& target, const std::string& help);

  // The exit code where the program is done, after help or bad input, which are printed.
  std::optional<int> read(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace chorale
