// An answer for people, made once: commands lay it out as text, and pages and notebooks show the same value.
#pragma once

#include <string>
#include <vector>

#include "ir/fields.h"

namespace chorale {

struct ReportTable {
  std::string title = {};
  std::vector<std::vector<std::string>> rows = {};  // the first is the head
  std::string kinds = {};                           // by column: r for numbers, l for text
  bool operator==(const ReportTable&) const = default;
};
template <>
struct Fields<ReportTable> {
  using R = ReportTable;
  static constexpr auto all = plain_fields<&R::title, &R::rows, &R::kinds>();
};

struct Report {
  std::string title = {};
  std::vector<std::string> sentences = {};  // the answer
  std::vector<std::string> notes = {};      // what was done otherwise than one may think
  std::vector<ReportTable> tables = {};
  std::vector<std::string> figures = {};  // SVG
};
template <>
struct Fields<Report> {
  using R = Report;
  static constexpr auto all = plain_fields<&R::title, &R::sentences, &R::notes, &R::tables, &R::figures>();
};

}  // namespace chorale
