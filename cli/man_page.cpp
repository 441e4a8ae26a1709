// Manual pages by the macros of man(7). The text below the options of a help text is split at its exit codes
// and examples, since manuals have sections for these.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "cli/manual.h"
#include "ir/words.h"

namespace chorale {
namespace {

// The text verbatim, with roff's special characters escaped. '-' would become a hyphen, with which a pasted
// command fails, and the quotes would be curled; a dot at the start of a line is a macro.
std::string roff(const std::string& text) {
  static const std::map<char, std::string> kEscapes = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
                                                       {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
  std::string out;
  for (const char c : text) {
    const auto escape = kEscapes.find(c);
    out += escape == kEscapes.end() ? std::string(1, c) : escape->second;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Below {  // the options
  std::vector<std::string> words = {}, examples = {};
  std::string exit_codes = {};  // "0 done, 2 bad input"
};

// "exit codes: 0 done, 2 bad input" is a line, "examples:" is followed by lines that are indented; all others
// are words, in this order or another.
Below below_options(const std::string& text) {
  static constexpr std::string_view kCodes = "exit codes: ";
  Below below;
  bool in_examples = false;
  for (const std::string& line : lines_of(text)) {
    if (line == "example:" || line == "examples:")
      in_examples = true;
    else if (in_examples && line.starts_with("  "))
      below.examples.push_back(line.substr(2));
    else if (line.starts_with(kCodes))
      below.exit_codes = line.substr(kCodes.size());
    else
      below.words.push_back(line);
  }
  return below;
}

// "0 done, 2 bad input, or no smpirun" becomes two paragraphs: where ", " is followed by a digit another code
// begins.
std::string exit_codes(const std::string& codes) {
  std::string out;
  for (std::size_t at = 0; at < codes.size();) {
    std::size_t end = codes.find(", ", at);
    while (end != std::string::npos && !std::isdigit(static_cast<unsigned char>(codes[end + 2])))
      end = codes.find(", ", end + 2);
    const std::string one = codes.substr(at, end == std::string::npos ? end : end - at);
    const std::size_t blank = one.find(' ');
    out += ".TP\n" + roff(one.substr(0, blank)) + "\n" + roff(one.substr(blank + 1)) + "\n";
    at = end == std::string::npos ? codes.size() : end + 2;
  }
  return out;
}

// Positional arguments only; options are many, and listed below.
std::string synopsis(const CommandText& command) {
  std::string line = ".B " + roff(command.path) + "\n";
  if (!command.commands.empty()) line += ".I COMMAND\n";
  for (const OptionText& option : command.options) {
    if (!option.names.empty()) continue;
    line +=
        (option.required ? ".I \"" : ".RI [ \"") + roff(option.value) + (option.required ? "\"\n" : "\" ]\n");
  }
  return line + ".RI [ OPTION ...]\n";
}

// Names in bold and the value in italics, below them the help: "-o, --output FILE".
std::string option_paragraph(const OptionText& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back("\\fB" + roff(name) + "\\fR");
  const std::string value = option.value.empty() ? "" : "\\fI" + roff(option.value) + "\\fR";
  return ".TP\n" + joined(names) + (names.empty() || value.empty() ? "" : " ") + value + "\n" +
         roff(option.help) + "\n";
}

// "chorale topology show" as the name of a page: "chorale-topology-show".
std::string dashed(const std::string& path) {
  std::string name = path;
  for (char& c : name)
    if (c == ' ') c = '-';
  return name;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string paragraphs(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line.empty() ? ".PP\n" : roff(line) + "\n";
  return out;
}

}  // namespace

std::string manual_page_name(const CommandText& command) {
  return dashed(command.path) + ".1";
}

// In the order of man-pages(7): NAME, SYNOPSIS, DESCRIPTION, commands and options, EXIT STATUS, EXAMPLES, SEE
// ALSO. The date is left empty, so that a page depends on the program alone. The page of a command leads to
// that of the command above it.
std::string manual_page(const CommandText& command, const std::string& version) {
  const Below below = below_options(command.more);
  std::string page =
      fmt::format(".TH {} 1 \"\" \"{}\"\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n",
                  roff(upper(dashed(command.path))), version, roff(dashed(command.path)), roff(command.help));
  page += synopsis(command);
  if (!below.words.empty()) page += ".SH DESCRIPTION\n" + paragraphs(below.words);
  if (!command.commands.empty()) page += ".SH COMMANDS\n";
  // The overview has its commands in groups; each begins with a heading of its own.
  std::string group;
  for (const CommandText& each : command.commands) {
    if (each.group != group) page += ".SS " + roff(each.group) + "\n";
    group = each.group;
    page += ".TP\n.BR " + roff(dashed(each.path)) + " (1)\n" + roff(each.help) + "\n";
  }
  page += ".SH OPTIONS\n";
  for (const OptionText& option : command.options) page += option_paragraph(option);
  if (!below.exit_codes.empty()) page += ".SH EXIT STATUS\n" + exit_codes(below.exit_codes);
  if (!below.examples.empty()) {
    page += ".SH EXAMPLES\n.nf\n";
    for (const std::string& line : below.examples) page += roff(line) + "\n";
    page += ".fi\n";
  }
  const std::size_t blank = command.path.rfind(' ');
  if (blank != std::string::npos)
    page += ".SH SEE ALSO\n.BR " + roff(dashed(command.path.substr(0, blank))) + " (1)\n";
  return page;
}

}  // namespace chorale
