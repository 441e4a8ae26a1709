// Results, written and read. Numbers are bounded so that values computed from them fit: rounds of all steps
// together are at most kMost, so they can be added in an int. Members that follow from others are written for
// the reader and must agree when they are read (src and dst of a send, a gap).

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>

#include "ir/agreement.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"

namespace chorale {

// Certificates, written and read: each has the members of its kind alone, and the reader refuses those of
// another, since nothing would check them. Numbers are bounded before anything is kept for them; whether a
// certificate proves its claim is bounds/check.cpp's to say, not the reader's.

namespace {

using Kind = Certificate::Kind;

constexpr int kMostInCertificate = 1'000'000'000;
constexpr std::size_t kMostCuts = 10'000, kMostPrices = 1'000'000;

// The forms of values that depend on the machine: a rank, a link, a group by rank.
struct CertificateFields : PlainFields {
  const Topology& topology;
  using PlainFields::read, PlainFields::write;

  template <typename Value>
  std::string write(const std::vector<Value>& values, const FieldWords& words) const {
    std::vector<std::string> texts;
    for (const Value& each : values) texts.push_back(write(each, words));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
  std::string write(const std::vector<int>& numbers, const FieldWords&) const { return list(numbers); }
  std::string write(const TimedCut& cut, const FieldWords&) const {
    return json_object("price", cut.price, "until", cut.until).text;
  }
  std::string write(const Prices& prices, const FieldWords&) const {
    return json_object("links", prices.links, "limits", prices.limits).text;
  }

  void read(const JsonReader& json, const FieldWords& words, int& number) const {
    number = json.integer(0, words.name == "rank" ? topology.ranks - 1 : kMostInCertificate);
  }
  void read(const JsonReader& json, const FieldWords&, std::vector<int>& group) const {
    group = json.integers(topology.ranks, 0, topology.ranks);
  }
  // "until" by rank; -1: the rank is never inside.
  void read(const JsonReader& json, const FieldWords&, std::vector<TimedCut>& cuts) const {
    for (const JsonReader& cut : json.elements(kMostCuts)) {
      cut.require_object({"price", "until"});
      cuts.push_back({.price = cut["price"].integer(0, kMostInCertificate),
                      .until = cut["until"].integers(topology.ranks, -1, kMostInCertificate)});
    }
  }
  // A price for each link and limit of the machine that claims are about: the one below chosen routes, if
  // there is one. Whether lists are complete is checked with the proof.
  void read(const JsonReader& json, const FieldWords&, std::vector<Prices>& prices) const {
    const std::size_t links = topology.underlay ? topology.underlay->links.size() : topology.links.size();
    const std::size_t limits = topology.underlay ? topology.underlay->limits.size() : topology.limits.size();
    for (const JsonReader& each : json.elements(kMostPrices)) {
      each.require_object({"links", "limits"});
      prices.push_back({.links = each["links"].integers(links, 0, kMostInCertificate),
                        .limits = each["limits"].integers(limits, 0, kMostInCertificate)});
    }
  }
};

}  // namespace

// {"kind":"distance","chunk":0,"rank":5}. The kind comes first: it decides which members follow.
std::string write_certificate(const Certificate& certificate, const Topology& topology) {
  const CertificateFields codec{{}, topology};
  std::string text = fmt::format(R"({{"kind":"{}")", name_in(certificate_kinds(), certificate.kind));
  fields<Certificate>([&](const auto& field) {
    if (!field.is_of(certificate.kind)) return;
    text += fmt::format(",\"{}\":{}", field.words.name, codec.write(field.of(certificate), field.words));
  });
  return text + "}";
}

// The kind first, then the members that this kind has.
Certificate read_certificate(const JsonReader& json, const Topology& topology) {
  const std::string name = json["kind"].text();
  const std::optional<Kind> kind = value_in(certificate_kinds(), name);
  if (!kind) json["kind"].fail("unknown kind '" + name + "'");
  // A member of another kind would never be read.
  std::vector<std::string_view> names = {"kind"};
  fields<Certificate>([&](const auto& field) {
    if (field.is_of(*kind)) names.push_back(field.words.name);
  });
  json.require_object(names);
  Certificate certificate{.kind = *kind};
  const CertificateFields codec{{}, topology};
  fields<Certificate>([&](const auto& field) {
    const char* const member = field.words.name.data();
    if (field.is_of(*kind)) codec.read(json[member], field.words, field.of(certificate));
  });
  return certificate;
}

namespace {

constexpr int kMost = 1'000'000'000;
constexpr double kMostBytesOfAll = 1 << 30;  // of the collectives of all points
constexpr std::size_t kMostStepsRead = 1'000'000, kMostSendsRead = 50'000'000;

// A number, or null for "any number of steps" and "no schedule".
std::string or_null(long long number) {
  return number == INT_MAX ? "null" : std::to_string(number);
}

std::string write_step(const Topology& topology, int rounds, const StatedStep& step) {
  std::string text = fmt::format(R"({{"rounds":{},"sends":[)", rounds);
  // A file may have millions of sends, so they are written without fmt. A send has at most 50 characters:
  // four ints of 10 digits or fewer, with what is between them.
  char words[64];
  for (const Send& send : step.sends) {
    char* end = words;
    const auto put = [&](char before, int number) {
      *end++ = before;
      end = std::to_chars(end, std::end(words), number).ptr;
    };
    const Link& link = topology.links[send.link];
    if (&send != step.sends.data()) *end++ = ',';
    put('[', send.chunk);
    put(',', link.src);
    put(',', link.dst);
    put(',', send.link);
    text.append(words, end).append(send.reduce ? ",\"+\"]" : "]");
  }
  text += "]";
  for (const StatedSum& sum : step.sums)
    text += fmt::format(R"({}[{},{},"{}"])", &sum == step.sums.data() ? ",\"sums\":[" : ",", sum.chunk,
                        sum.rank, sum.order);
  return text += step.sums.empty() ? "}" : "]}";
}

// [chunk, src, dst, link] or [chunk, src, dst, link, "+"]; src and dst are informative and must fit the link.
Send read_send(const JsonReader& json, const Topology& topology) {
  const std::size_t size = json.size(5);
  if (size < 4) json.fail("is not a send", "use [chunk, src, dst, link] or [chunk, src, dst, link, \"+\"]");
  Send send{.chunk = json.at(0).integer(0, kMost)};
  send.link = json.at(3).integer(0, static_cast<int>(topology.links.size()) - 1);
  const Link& link = topology.links[send.link];
  if (json.at(1).integer(0, kMost) != link.src || json.at(2).integer(0, kMost) != link.dst)
    json.fail(fmt::format("link {} goes {} -> {}", send.link, link.src, link.dst),
              "name the link that is meant");
  if (size == 5) {
    if (json.at(4).text() != "+") json.at(4).fail("is not \"+\"");
    send.reduce = true;
  }
  return send;
}

// [chunk, rank, order]
StatedSum read_sum(const JsonReader& json) {
  if (json.size(3) != 3) json.fail("is not a sum", "write [chunk, rank, \"((0 1) 2)\"]");
  return {json.at(0).integer(0, kMost), json.at(1).integer(0, kMost), json.at(2).text()};
}

// Those that are stated follow from the sends. Older files state none.
void require_sums(const JsonReader& json, const Topology& topology, const Collective& collective,
                  const Schedule& schedule) {
  std::vector<StatedStep> follow;
  for (std::size_t s = 0; s < schedule.steps.size(); ++s) {
    if (!json.at(s).has("sums")) continue;
    // Made once, and only if a step states sums: following the sums of a large schedule takes time.
    if (follow.empty()) follow = stated_steps(topology, collective, schedule);
    for (const JsonReader& stated : json.at(s)["sums"].elements(kMostSendsRead)) {
      const StatedSum sum = read_sum(stated);
      const auto place = [](const StatedSum& each) { return std::pair(each.chunk, each.rank); };
      const auto same = std::ranges::lower_bound(follow[s].sums, place(sum), {}, place);
      if (same == follow[s].sums.end() || *same != sum)
        stated.fail("is not how the ranks add with these sends", "leave 'sums' out");
    }
  }
}

// Sums are not read here: they follow from sends of all steps (require_sums).
Schedule read_schedule(const JsonReader& json, const Topology& topology) {
  Schedule schedule;
  int rounds = 0;  // of all steps
  for (const JsonReader& step : json.elements(kMostStepsRead)) {
    step.require_object({"rounds", "sends", "sums"});
    schedule.steps.push_back({.rounds = step["rounds"].integer(1, kMost)});
    if (schedule.steps.back().rounds > kMost - rounds)
      step["rounds"].fail(fmt::format("makes more than {} rounds of all steps", kMost), "use fewer");
    rounds += schedule.steps.back().rounds;
    for (const JsonReader& send : step["sends"].elements(kMostSendsRead))
      schedule.steps.back().sends.push_back(read_send(send, topology));
  }
  return schedule;
}

// Older files call constructed points "routed", and do not name the construction.
Method read_method(const JsonReader& json) {
  const std::string name = json.text();
  if (name == "routed") return Method::Direct;
  if (const std::optional<Method> method = value_in(methods(), name)) return *method;
  json.fail("'" + name + "' is not a method of finding a schedule",
            "see docs/formats.md for those that there are");
}

// Words that are shown as they are.
std::string read_construction(const JsonReader& json) {
  std::string name = json.text();
  if (construction_name(name) != name)
    json.fail("is not the name of a construction", "leave it out, or use letters, digits and '_'");
  return name;
}

// Older files do not state it. An Allgather sends every chunk once to every rank but its owner, so the number
// of its sends determines where it begins.
int read_reduce_scatter_steps(const JsonReader& json, const Point& point) {
  const std::vector<Step>& steps = point.schedule.steps;
  if (json.has("reduce_scatter_steps"))
    return json["reduce_scatter_steps"].integer(0, static_cast<int>(steps.size()));
  long long gathers = static_cast<long long>(point.cost.chunks) * (point.collective.ranks - 1);
  std::size_t border = steps.size();
  // From the end: steps belong to the Allgather until its sends are complete.
  while (gathers > 0 && border > 0) gathers -= std::ssize(steps[--border].sends);
  return static_cast<int>(border);
}

// Members in two lines, from "on_frontier" on the second; then what it does, and its schedule. A gap is
// written with six digits and null for infinity, so it is compared as it would be written.
struct PointFields : SpacedFields {
  using SpacedFields::read, SpacedFields::write;
  static std::string_view between(const FieldWords& words) {
    return words.name == "on_frontier" ? ",\n     " : ", ";
  }
  std::string write(Method method, const FieldWords&) const { return quoted(name_of(method)); }
  std::string write(double number, const FieldWords& words) const {
    if (words.name != "gap") return fmt::format("{}", number);
    return std::isinf(number) ? "null" : fmt::format("{:.6g}", number);
  }
  void read(const JsonReader& json, const FieldWords&, Method& method) const { method = read_method(json); }
  void read(const JsonReader& json, const FieldWords&, std::string& name) const {
    name = read_construction(json);
  }
  void require(const JsonReader& stated, double gap) const {
    const FieldWords words{.name = "gap"};
    const std::string follows = write(gap, words);
    if (stated.is_null() ? follows != "null" : write(stated.number(0, 1e18), words) != follows)
      stated.fail("does not follow from rounds, chunks and bound, which give " + follows);
  }
};

// Sends are written in the order in which their ranks add (ir/agreement.h), not in that of Step::sends.
std::string write_point(const Topology& topology, const Point& point) {
  std::vector<std::string> steps;
  for (const StatedStep& step : stated_steps(topology, point.collective, point.schedule))
    steps.push_back(write_step(topology, point.schedule.steps[steps.size()].rounds, step));
  std::string text =
      fmt::format("{{{},\n     \"does\": {},\n     \"schedule\": ", write_members(point, PointFields()),
                  write_collective(point.collective, "     "));
  return text.append(lines(steps, "     ")) += "}";
}

// Sends need the machine, sums need the collective and the sends, and the border of a composition needs all
// steps: hence this order.
Point read_point(const JsonReader& json, const Topology& topology) {
  require_fields<Point>(json, {"does", "schedule"});
  Point point;
  read_members(json, point, PointFields());
  point.collective = read_collective(json["does"], topology.ranks);
  point.schedule = read_schedule(json["schedule"], topology);
  require_sums(json["schedule"], topology, point.collective, point.schedule);
  if (point.method == Method::Composed)
    point.reduce_scatter_steps = read_reduce_scatter_steps(json, point);
  else if (json.has("reduce_scatter_steps"))
    json["reduce_scatter_steps"].fail("is not for method '" + name_of(point.method) + "'", "leave it out");
  return point;
}

Space read_space(const JsonReader& json) {
  const Space space = read_fields<Space>(json);
  if (space.max_chunks < space.min_chunks)
    json["max_chunks"].integer(space.min_chunks, static_cast<int>(kMostChunkCount));  // refuses it
  return space;
}

// A claim is about the requested collective, or about a part of it that has a name.
std::string claimed_name(const Result& result, CollectiveKind kind) {
  return kind == CollectiveKind::Custom ? name_of(result.collective) : name_of(kind);
}

// A custom collective has its own name; parts of a composition have those of kinds.
CollectiveKind read_kind(const JsonReader& json, const Collective& asked) {
  const std::string name = json.text();
  if (name == name_of(asked)) return asked.kind;
  if (const std::optional<CollectiveKind> kind = kind_named(name)) return *kind;
  json.fail("'" + name + "' proves nothing about " + name_of(asked),
            "name what was asked for, or a part of it");
}

struct ClaimFields : PlainFields {
  const Result& result;
  using PlainFields::read, PlainFields::write;
  std::string write(CollectiveKind kind, const FieldWords&) const {
    return quoted(claimed_name(result, kind));
  }
  std::string write(const Certificate& certificate, const FieldWords&) const {
    return write_certificate(certificate, result.topology);
  }
  void read(const JsonReader& json, const FieldWords&, CollectiveKind& kind) const {
    kind = read_kind(json, result.collective);
  }
  void read(const JsonReader& json, const FieldWords&, Certificate& certificate) const {
    certificate = read_certificate(json, result.topology);
  }
};

// Rates of claims are added, so the chunks that they are per are bounded more tightly than chunk counts.
Claim read_claim(const JsonReader& json, const Result& result) {
  const Claim claim = read_fields<Claim>(json, ClaimFields{{}, result});
  if (claim.any_chunks) json["chunks"].integer(1, kMostPerRate);
  return claim;
}

// What is read is read in the order of the members, each by those before it.
struct ResultFields : LineFields<ResultFields> {
  const Result& result;
  mutable double bytes = 0;  // of the collectives of the points so far
  using LineFields::read, LineFields::write;

  std::string write(const Topology& topology, const FieldWords&) const {
    return write_topology(topology, indent);
  }
  std::string write(const Collective& collective, const FieldWords&) const {
    return write_collective(collective, indent);
  }
  std::string write(const Space& space, const FieldWords&) const {
    return write_fields(space, SpacedFields());
  }
  std::string write(const SearchLimits& limits, const FieldWords&) const {
    return write_fields(limits, SpacedFields());
  }
  std::string write(const Point& point, const FieldWords&) const {
    return write_point(result.topology, point);
  }
  std::string write(const Claim& claim, const FieldWords&) const {
    return write_fields(claim, ClaimFields{{}, result});
  }
  std::string write(const TimeClaim& claim, const FieldWords&) const {
    return write_fields(claim, CompactFields());
  }

  void read(const JsonReader& json, const FieldWords&, Topology& topology) const {
    topology = read_topology(json);
    if (topology.switches > 0) json.fail("has switches", "results are about flattened topologies");
  }
  void read(const JsonReader& json, const FieldWords&, Collective& collective) const {
    collective = read_collective(json, result.topology.ranks);
  }
  void read(const JsonReader& json, const FieldWords&, Space& space) const { space = read_space(json); }
  void read(const JsonReader& json, const FieldWords&, Point& point) const {
    point = read_point(json, result.topology);
    bytes += bytes_of(point.collective);
    if (bytes > kMostBytesOfAll)
      json["does"].fail(
          fmt::format("what the points up to this one do takes {:.0f} MiB", bytes / (1 << 20)),
          fmt::format("keep fewer points: {:.0f} MiB is the most", kMostBytesOfAll / (1 << 20)));
  }
  void read(const JsonReader& json, const FieldWords&, Claim& claim) const {
    claim = read_claim(json, result);
  }
  void read(const JsonReader& json, const FieldWords&, TimeClaim& claim) const {
    claim = read_fields<TimeClaim>(json, CompactFields());
  }
};

}  // namespace

void begin_member(std::string& text, std::string_view between, std::string_view name,
                  std::string_view colon) {
  if (!text.empty()) text += between;
  text.append("\"").append(name).append("\"").append(colon);
}

bool reads_member(const JsonReader& json, const FieldWords& words, std::optional<bool> has) {
  const char* const name = key_of(words).data();
  if (has == false && json.has(name)) json[name].fail("does not belong here", "leave it out");
  return has.value_or(!words.may_lack || json.has(name));
}

std::string write_rate(const Rate& rate) {
  return fmt::format("[{},{}]", or_null(rate.rounds), rate.chunks);
}

// [rounds, chunks]; rounds are null if there is no schedule.
Rate read_rate(const JsonReader& json) {
  if (json.size(2) != 2) json.fail("is not rounds per chunk", "use [rounds, chunks]");
  constexpr long long most = 1'000'000'000'000'000;
  return {.rounds = json.at(0).is_null() ? kNoSchedule : json.at(0).long_integer(0, most),
          .chunks = json.at(1).long_integer(1, most)};
}

std::string to_json(const Result& result) {
  return fmt::format("{{\n  \"chorale_result\": {},\n  ", kResultVersion)
      .append(write_members(result, ResultFields{{{}, "  "}, result}))
      .append("\n}\n");
}

// The version is compared before the members: another one may have others.
Result result_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  if (!json.has("chorale_result"))
    json.fail("is not a result", "make one with 'chorale frontier --json FILE'");
  if (const long long version = json["chorale_result"].long_integer(0, 1'000'000LL);
      version != kResultVersion)
    json["chorale_result"].fail(fmt::format("version {} is not known", version),
                                fmt::format("this program reads version {}", kResultVersion));
  require_fields<Result>(json, {"chorale_result"});
  Result result;
  read_members(json, result, ResultFields{{{}, "  "}, result});
  return result;
}

}  // namespace chorale
