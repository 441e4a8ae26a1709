// An answer for people, made once: commands lay it out as text, and pages and notebooks show the same value.
#pragma once

#include <string>
#include <vector>

#include "ir/fields.h"

namespace chorale {

inline constexpr std::size_t kLongestOfReport = 1 << 30;  // a list, and each of its texts

struct ReportTable {
  std::string title = {};
  std::vector<std::vector<std::string>> rows = {};  // the first is the head
  std::string kinds = {};                           // by column: r for numbers, l for text
  bool operator==(const ReportTable&) const = default;
};
template <>
struct Fields<ReportTable> {
  using R = ReportTable;
  static constexpr std::tuple all = {field<&R::title>({.longest = kLongestOfReport}),
                                     field<&R::rows>({.longest = kLongestOfReport}), field<&R::kinds>()};
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
  static constexpr std::tuple all = {
      field<&R::title>({.longest = kLongestOfReport}), field<&R::sentences>({.longest = kLongestOfReport}),
      field<&R::notes>({.longest = kLongestOfReport}), field<&R::tables>({.longest = kLongestOfReport}),
      field<&R::figures>({.longest = kLongestOfReport})};
};

}  // namespace chorale
