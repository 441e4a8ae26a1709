// Two machines or results side by side as one self-contained page: figures of time and bus bandwidth over
// message size, sentences, and tables.
#pragma once

#include <string>
#include <vector>

namespace chorale {

struct ComparePage {
  struct Table {
    std::string title = {};
    std::vector<std::vector<std::string>> rows = {};  // the first is the head
    std::string kinds = {};                           // by column: l or r
  };
  std::string title = {};
  std::vector<std::string> sentences = {};
  std::vector<std::string> figures = {};  // SVG (size_figure.h)
  std::vector<Table> tables = {};
};

std::string to_html(const ComparePage&);

}  // namespace chorale
