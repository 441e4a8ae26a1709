// A template is a job whose sizes are open: quantities are formulas over axes and numbers, by the expressions
// of epilogues (ir/epilogue.h). A number may use axes and the numbers before it, so one pass over them
// evaluates all. For given sizes it becomes a plain job, or the first reason why they do not fit.
#include "ir/job_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "ir/epilogue.h"
#include "ir/expression_value.h"
#include "ir/json_nouns.h"
#include "ir/shown.h"

namespace chorale {
namespace {

using Op = ExpressionOperator;

constexpr std::size_t kMostTemplateAxes = 8, kMostConditions = 100, kMostOpenReductions = 1000;

// A formula's operands are all names that are known where it stands: axes, then the numbers so far, in the
// order in which sized() has their values.
std::vector<EpilogueOperand> operands_in(const JobTemplate& job) {
  std::vector<EpilogueOperand> result;
  for (const OpenAxis& axis : job.axes) result.push_back({.name = axis.name});
  for (const NamedQuantity& number : job.numbers) result.push_back({.name = number.name});
  return result;
}

Quantity read_quantity(const JsonReader& json, const JobTemplate& job) {
  // A plain number may stand for itself.
  Quantity quantity{.text = json.is_number() ? fmt::format("{}", json.number(0, 1e30)) : json.text(400)};
  quantity.expression = parse_expression(quantity.text, operands_in(job), json.where());
  // A formula is of sizes alone: it has no element and no index, and draws nothing.
  for (const ExpressionNode& node : quantity.expression)
    if (node.op == Op::Element || node.op == Op::Index || node.op == Op::Random || node.op == Op::Convert)
      json.fail("has x, index, Random or Cast, which mean nothing here",
                "use axes, numbers that come before it, and operators");
  return quantity;
}

std::vector<Quantity> read_quantities(const JsonReader& json, const JobTemplate& job) {
  std::vector<Quantity> result;
  for (const JsonReader& each : json.elements(kMostConditions)) result.push_back(read_quantity(each, job));
  return result;
}

// Axes and numbers share one space of names. "x" and "index" are allowed, which mean something in epilogues
// only.
void require_new_name(const JsonReader& json, const std::string& name, const JobTemplate& job) {
  const std::vector<EpilogueOperand> known = operands_in(job);
  if (std::ranges::find(known, name, &EpilogueOperand::name) != known.end())
    json.fail("'" + name + "' has a meaning already", "choose another name");
  if (!is_operand_name(name) && name != "x" && name != "index")
    json.fail("'" + name + "' is not a name", "use letters, digits and _, and no function's name");
}

// The form of a reduction is that of jobs (ir/json_placement.cpp), with formulas for its bytes and times.
OpenReduction read_reduction(const JsonReader& json, const JobTemplate& job) {
  OpenReduction open{.bytes = read_quantity(json["bytes"], job)};
  open.times = json.has("times") ? read_quantity(json["times"], job) : Quantity{"1", {{.constant = 1}}};
  std::vector<Axis> axes;
  for (const OpenAxis& axis : job.axes) axes.push_back({.name = axis.name});
  std::vector<Reduction> before;
  for (const OpenReduction& each : job.reductions) before.push_back(each.reduction);
  open.reduction = read_open_reduction(json, axes, before);
  return open;
}

// By the evaluator of expressions over doubles, with axes and numbers as operands.
double value_of(const Expression& expression, const std::vector<double>& operands) {
  return value_of<double>(
      expression,
      [&](const ExpressionNode& node) {
        return node.op == Op::Constant ? node.constant : operands[node.operand];
      },
      [](ElementType, double value) { return value; });  // formulas have no conversions
}

}  // namespace

// Anywhere in the text: JSON has no order of keys. The reader then decides.
bool is_job_template(std::string_view text) {
  return text.find("\"job_template\"") != std::string_view::npos;
}

JobTemplate job_template_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"job_template", "axes", "numbers", "whole", "require", "memory_bytes", "room_bytes",
                       "compute_us", "reductions"});
  JobTemplate job{.name = json["job_template"].text()};
  const JsonReader axes = json["axes"];
  for (const JsonReader& each : axes.elements(kMostTemplateAxes)) {
    each.require_object({"name", "size", "most"});
    OpenAxis axis{.name = each["name"].text(40)};
    require_new_name(each["name"], axis.name, job);
    if (each.has("size")) axis.size = each["size"].integer(1, axis.most);
    if (each.has("most")) axis.most = each["most"].integer(1, axis.most);
    if (axis.size > axis.most) each["size"].fail("is more than the most", "drop one of them");
    job.axes.push_back(std::move(axis));
  }
  if (job.axes.empty()) axes.fail("is empty", "list at least one axis");
  if (json.has("numbers"))
    for (const JsonReader& each : json["numbers"].elements(kMostConditions)) {
      each.require_object({"name", "is"});
      const std::string name = each["name"].text(60);
      require_new_name(each["name"], name, job);
      job.numbers.push_back({name, read_quantity(each["is"], job)});
    }
  if (json.has("whole")) job.whole = read_quantities(json["whole"], job);
  if (json.has("require")) job.require = read_quantities(json["require"], job);
  if (json.has("memory_bytes")) job.memory_bytes = read_quantity(json["memory_bytes"], job);
  if (json.has("room_bytes")) job.room_bytes = json["room_bytes"].number(1, 1e18);
  if (json.has("room_bytes") && !json.has("memory_bytes"))
    json["room_bytes"].fail("is there without memory_bytes", "give what a device keeps");
  if (json.has("compute_us")) job.compute_us = read_quantity(json["compute_us"], job);
  const JsonReader reductions = json["reductions"];
  for (const JsonReader& each : reductions.elements(kMostOpenReductions))
    job.reductions.push_back(read_reduction(each, job));
  if (job.reductions.empty()) reductions.fail("is empty", "list at least one reduction");
  return job;
}

// In this order: numbers, what has to be whole, conditions, memory, time, communications. The first of whole,
// conditions and memory that fails is the reason; a formula without a value is an error.
SizedJob sized(const JobTemplate& job, const std::vector<int>& sizes) {
  std::vector<double> operands(sizes.begin(), sizes.end());
  std::string at;
  for (std::size_t i = 0; i < job.axes.size(); ++i)
    at += fmt::format("{}{}={}", i > 0 ? "," : "", job.axes[i].name, sizes[i]);
  // 0 where there is no formula. Later formulas see the numbers that are already among the operands.
  const auto value = [&](const Quantity& quantity) {
    if (quantity.expression.empty()) return 0.0;
    const double result = value_of(quantity.expression, operands);
    if (!std::isfinite(result) || result < 0 || result > 1e30)
      throw InputError("'" + quantity.text + "' of " + shown(job.name),
                       fmt::format("is {} with {}", result, at), "give it a value of 0 or more");
    return result;
  };
  for (const NamedQuantity& number : job.numbers) operands.push_back(value(number.value));

  SizedJob result{.job = {.name = job.name}};
  for (std::size_t i = 0; i < job.axes.size(); ++i) result.job.axes.push_back({job.axes[i].name, sizes[i]});
  for (const Quantity& each : job.whole)
    if (const double number = value(each); number < 1 || number != std::floor(number))
      return result.unfit = fmt::format("{} is {:.6g}, not whole", each.text, number), result;
  for (const Quantity& each : job.require)
    if (value(each) == 0) return result.unfit = each.text + " does not hold", result;
  result.memory_bytes = value(job.memory_bytes);
  if (job.room_bytes > 0 && result.memory_bytes > job.room_bytes)
    return result.unfit = fmt::format("a device would keep {:.1f} GB of {:.1f}", result.memory_bytes / 1e9,
                                      job.room_bytes / 1e9),
           result;
  result.compute_us = value(job.compute_us);
  // Reductions that wait for a removed one wait for its predecessors instead.
  std::vector<std::vector<int>> stand_for;  // by reduction of the template: numbers in the job
  for (const OpenReduction& open : job.reductions) {
    Reduction reduction = open.reduction;
    std::set<int> waits_for;
    for (std::size_t before = 0; before < stand_for.size(); ++before)
      if (!reduction.after ||
          std::ranges::find(*reduction.after, static_cast<int>(before)) != reduction.after->end())
        waits_for.insert(stand_for[before].begin(), stand_for[before].end());
    if (reduction.after) reduction.after = std::vector<int>(waits_for.begin(), waits_for.end());
    reduction.bytes = value(open.bytes);
    reduction.times = value(open.times);
    // Over axes of size 1 nothing is sent, so the reduction is left out.
    const bool alone = std::ranges::all_of(reduction.axes, [&](int axis) { return sizes[axis] == 1; });
    if (!alone && reduction.bytes > 0 && reduction.times > 0) {
      stand_for.push_back({static_cast<int>(result.job.reductions.size())});
      result.job.reductions.push_back(std::move(reduction));
    } else {
      stand_for.emplace_back(waits_for.begin(), waits_for.end());
    }
  }
  return result;
}

}  // namespace chorale
