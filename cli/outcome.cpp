// A document for standard output (--json -) displaces the text for people, which goes to standard error then.
// All of it passes shown() or shown_lines(): names from files cannot steer the terminal. Notes and errors are
// one line each.
#include "cli/outcome.h"

#include <cstdio>

#include "api/report.h"
#include "cli/layout.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/shown.h"

namespace chorale {
namespace {

void print(const std::string& text, std::FILE* to) {
  std::fwrite(text.data(), 1, text.size(), to);
}

}  // namespace

void deliver(const std::string& path, std::string contents, Outcome& outcome) {
  if (path == kStandardOutput) {
    outcome.document = std::move(contents);
  } else {
    outcome.files.push_back({path, std::move(contents)});
    outcome.written.push_back(path);
  }
}

Outcome reported(const Report& report, const std::string& html) {
  Outcome outcome{.text = text_of(report), .notes = report.notes};
  if (!html.empty()) deliver(html, to_page(report), outcome);
  return outcome;
}

void deliver(const std::string& folder, std::vector<NamedText> files, Outcome& outcome) {
  for (NamedText& file : in_folder(folder, std::move(files)))
    deliver(file.path, std::move(file.text), outcome);
}

// In this order: the document, the text, what was written, then notes and errors. What could not be written
// is an error, since a script would else take half a document for a whole one.
void say(const Outcome& outcome, bool quiet) {
  print(outcome.document, stdout);
  if (!quiet) {
    std::FILE* const people = outcome.document.empty() ? stdout : stderr;
    const std::string text = shown_lines(outcome.text);
    print(outcome.verbatim ? text : fitted(text), people);
    for (const std::string& path : outcome.written) print("wrote " + shown(path) + "\n", people);
  }
  if (!quiet)
    for (const std::string& note : outcome.notes) print("chorale: note: " + shown(note) + "\n", stderr);
  for (const std::string& error : outcome.errors) print("chorale: error: " + shown(error) + "\n", stderr);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw InputError("standard output", "cannot be written", "check the space on it");
}

}  // namespace chorale
