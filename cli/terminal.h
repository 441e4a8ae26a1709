// Where people read.
#pragma once

#include <cstddef>

namespace chorale {

// Columns of a line: those of COLUMNS, else those of the terminal on standard output, else 80.
std::size_t text_width();

}  // namespace chorale
