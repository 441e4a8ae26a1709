// Text laid out to a width. Columns are counted in characters of UTF-8, whose bytes are more.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ir/report.h"

namespace chorale {

// Where people read.

// Columns of a line: those of COLUMNS, else those of the terminal on standard output, else 80.
std::size_t text_width();

using TableRows = std::vector<std::vector<std::string>>;  // the first is the head

// The text in lines, broken at whitespace. A word that is longer than the width, such as a path, stays whole.
std::vector<std::string> broken(const std::string& text, std::size_t width);

// Lines that are longer than the width are broken at whitespace. The lines that follow are indented by two
// more than its line, or, where a line starts with a label ("any schedule:    ..."), to what the label is
// for.
std::string fitted(const std::string& text, std::size_t width = text_width());

// Columns as wide as their widest cell, two spaces between them. `kinds` has a letter for each: r for
// numbers, l for text; R and L for what is left out where there is no room for all, the last such first.
// Where the rest is still too wide, the last column is wrapped; and where little room is left for it, the
// last columns, as many as need be, go under their row.
std::string table(TableRows rows, std::string kinds, std::size_t width = text_width());

// The tables of a report, then its sentences. A table with a title stands apart from what is before it.
std::string text_of(const Report&);

}  // namespace chorale
