#include <algorithm>

#include "ir/json.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"

namespace chorale {
namespace {

using Kind = Certificate::Kind;

constexpr int kMost = 1'000'000'000;
constexpr std::size_t kMostPoints = 10'000, kMostSteps = 1'000'000, kMostSends = 50'000'000;

struct KindName {
  Kind kind;
  const char* name;
};
constexpr KindName kKinds[] = {{Kind::None, "none"},       {Kind::Distance, "distance"},
                               {Kind::Weights, "weights"}, {Kind::Partition, "partition"},
                               {Kind::Growth, "growth"},   {Kind::Refutation, "refutation"}};

std::string name_of(Kind kind) {
  return std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindName& k) { return k.kind == kind; })
      ->name;
}

// A number, or null for "any number of steps" and "no schedule".
std::string or_null(int number) {
  return number == INT_MAX ? "null" : std::to_string(number);
}
int read_or_null(const JsonReader& json, int least) {
  return json.is_null() ? INT_MAX : json.integer(least, kMost);
}

std::string write_certificate(const Certificate& certificate) {
  std::string text = fmt::format(R"({{"kind":"{}")", name_of(certificate.kind));
  switch (certificate.kind) {
    case Kind::None:
      break;
    case Kind::Distance:
      text += fmt::format(R"(,"chunk":{},"rank":{})", certificate.chunk, certificate.rank);
      break;
    case Kind::Growth:
      text += fmt::format(R"(,"chunk":{})", certificate.chunk);
      break;
    case Kind::Partition:
      text += fmt::format(R"(,"group":{})", list(certificate.group));
      [[fallthrough]];
    case Kind::Weights: {
      std::vector<std::string> prices;
      for (const Prices& p : certificate.prices)
        prices.push_back(fmt::format(R"({{"links":{},"limits":{}}})", list(p.links), list(p.limits)));
      text += fmt::format(R"(,"prices":[{}])", fmt::join(prices, ","));
      break;
    }
    case Kind::Refutation:
      text += fmt::format(R"(,"engine":{},"formula_sha256":{},"proof_sha256":{},"proof_bytes":{})",
                          quoted(certificate.engine), quoted(certificate.formula_sha256),
                          quoted(certificate.proof_sha256), certificate.proof_bytes);
      break;
  }
  return text + "}";
}

std::vector<int> read_numbers(const JsonReader& json, std::size_t most, int largest) {
  std::vector<int> numbers;
  const std::size_t size = json.size(most);
  for (std::size_t i = 0; i < size; ++i) numbers.push_back(json.at(i).integer(0, largest));
  return numbers;
}

Certificate read_certificate(const JsonReader& json, const Topology& topology) {
  json.require_object({"kind", "chunk", "rank", "prices", "group", "engine", "formula_sha256", "proof_sha256",
                       "proof_bytes"});
  const std::string name = json["kind"].text();
  const auto known =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const KindName& k) { return name == k.name; });
  if (known == std::end(kKinds)) json["kind"].fail("unknown kind '" + name + "'");
  Certificate certificate{.kind = known->kind};
  if (certificate.kind == Kind::Distance || certificate.kind == Kind::Growth)
    certificate.chunk = json["chunk"].integer(0, kMost);
  if (certificate.kind == Kind::Distance) {
    certificate.rank = json["rank"].integer(0, topology.ranks - 1);
  }
  if (certificate.kind == Kind::Partition)
    certificate.group = read_numbers(json["group"], topology.ranks, topology.ranks);
  if (certificate.kind == Kind::Weights || certificate.kind == Kind::Partition) {
    const JsonReader prices = json["prices"];
    for (std::size_t i = 0; i < prices.size(kMostSteps); ++i) {
      prices.at(i).require_object({"links", "limits"});
      certificate.prices.push_back(
          {.links = read_numbers(prices.at(i)["links"], topology.links.size(), kMost),
           .limits = read_numbers(prices.at(i)["limits"], topology.limits.size(), kMost)});
    }
  }
  if (certificate.kind == Kind::Refutation) {
    certificate.engine = json["engine"].text();
    certificate.formula_sha256 = json["formula_sha256"].text();
    certificate.proof_sha256 = json["proof_sha256"].text();
    certificate.proof_bytes = json["proof_bytes"].long_integer(0, 1LL << 50);
  }
  return certificate;
}

std::string write_step(const Topology& topology, const Step& step) {
  std::string sends;
  for (const Send& send : step.sends) {
    const Link& link = topology.links[send.link];
    sends += fmt::format("{}[{},{},{},{}{}]", sends.empty() ? "" : ",", send.chunk, link.src, link.dst,
                         send.link, send.reduce ? ",\"+\"" : "");
  }
  return fmt::format(R"({{"rounds":{},"sends":[{}]}})", step.rounds, sends);
}

// [chunk, src, dst, link] or [chunk, src, dst, link, "+"]; src and dst are for people and must fit the link.
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

Schedule read_schedule(const JsonReader& json, const Topology& topology) {
  Schedule schedule;
  for (std::size_t s = 0; s < json.size(kMostSteps); ++s) {
    const JsonReader step = json.at(s);
    step.require_object({"rounds", "sends"});
    schedule.steps.push_back({.rounds = step["rounds"].integer(1, kMost)});
    const JsonReader sends = step["sends"];
    const std::size_t size = sends.size(kMostSends);
    for (std::size_t i = 0; i < size; ++i)
      schedule.steps.back().sends.push_back(read_send(sends.at(i), topology));
  }
  return schedule;
}

std::string write_point(const Topology& topology, const Point& point) {
  std::vector<std::string> steps;
  for (const Step& step : point.schedule.steps) steps.push_back(write_step(topology, step));
  return fmt::format(
      "{{\"steps\": {}, \"rounds\": {}, \"chunks\": {}, \"method\": {},\n     \"on_frontier\": {}, "
      "\"proven\": {}, \"certificate\": {}, \"seconds\": {},\n     \"does\": {},\n     \"schedule\": {}}}",
      point.cost.steps, point.cost.rounds, point.cost.chunks, quoted(point.method), point.on_frontier,
      point.proven, quoted(point.certificate), point.seconds, write_collective(point.collective, "     "),
      lines(steps, "     "));
}

Point read_point(const JsonReader& json, const Topology& topology) {
  json.require_object({"steps", "rounds", "chunks", "method", "on_frontier", "proven", "certificate",
                       "seconds", "does", "schedule"});
  return {.cost = {.steps = json["steps"].integer(0, kMost),
                   .rounds = json["rounds"].integer(0, kMost),
                   .chunks = json["chunks"].integer(1, kMost)},
          .method = json["method"].text(),
          .collective = read_collective(json["does"], topology.ranks),
          .schedule = read_schedule(json["schedule"], topology),
          .on_frontier = json["on_frontier"].boolean(),
          .proven = json["proven"].boolean(),
          .certificate = json["certificate"].text(2000),
          .seconds = json["seconds"].number(0, 1e12)};
}

std::string write_claim(const Claim& claim) {
  return fmt::format(
      R"({{"collective":{},"chunks":{},"steps":{},"rounds":{},"seconds":{},"certificate":{}}})",
      quoted(claim.collective), claim.chunks, or_null(claim.steps), or_null(claim.rounds), claim.seconds,
      write_certificate(claim.certificate));
}

Claim read_claim(const JsonReader& json, const Topology& topology) {
  json.require_object({"collective", "chunks", "steps", "rounds", "seconds", "certificate"});
  return {.collective = json["collective"].text(),
          .chunks = json["chunks"].integer(1, kMost),
          .steps = read_or_null(json["steps"], 0),
          .rounds = read_or_null(json["rounds"], 0),
          .certificate = read_certificate(json["certificate"], topology),
          .seconds = json["seconds"].number(0, 1e12)};
}

}  // namespace

std::string to_json(const Result& result) {
  std::vector<std::string> points, claims;
  for (const Point& point : result.points) points.push_back(write_point(result.topology, point));
  for (const Claim& claim : result.claims) claims.push_back(write_claim(claim));
  return fmt::format(
      "{{\n  \"chorale_result\": {},\n  \"kind\": {},\n  \"topology\": {},\n  \"collective\": {},\n"
      "  \"min_chunks\": {},\n  \"max_chunks\": {},\n  \"extra_rounds\": {},\n  \"complete\": {},\n"
      "  \"stopped\": {},\n  \"seconds\": {},\n  \"points\": {},\n  \"claims\": {}\n}}\n",
      kResultVersion, quoted(result.kind), write_topology(result.topology, "  "),
      write_collective(result.collective, "  "), result.min_chunks, result.max_chunks, result.extra_rounds,
      result.complete, quoted(result.stopped), result.seconds, lines(points, "  "), lines(claims, "  "));
}

Result result_from_json(std::string_view text, const std::string& file) {
  const nlohmann::json value = parse_json(text, file);
  const JsonReader json(value, file, "");
  if (!json.has("chorale_result"))
    json.fail("is not a result", "make one with 'chorale frontier --json FILE'");
  if (const long long version = json["chorale_result"].long_integer(0, 1'000'000LL);
      version != kResultVersion)
    json["chorale_result"].fail(fmt::format("version {} is not known", version),
                                fmt::format("this program reads version {}", kResultVersion));
  json.require_object({"chorale_result", "kind", "topology", "collective", "min_chunks", "max_chunks",
                       "extra_rounds", "complete", "stopped", "seconds", "points", "claims"});
  Result result{.kind = json["kind"].text(), .topology = read_topology(json["topology"])};
  if (result.topology.switches > 0)
    json["topology"].fail("has switches", "results are about flattened topologies");
  result.collective = read_collective(json["collective"], result.topology.ranks);
  result.min_chunks = json["min_chunks"].integer(1, kMost);
  result.max_chunks = json["max_chunks"].integer(result.min_chunks, kMost);
  result.extra_rounds = json["extra_rounds"].integer(-1, kMost);
  result.complete = json["complete"].boolean();
  result.stopped = json["stopped"].text();
  result.seconds = json["seconds"].number(0, 1e12);
  const JsonReader points = json["points"], claims = json["claims"];
  for (std::size_t i = 0; i < points.size(kMostPoints); ++i)
    result.points.push_back(read_point(points.at(i), result.topology));
  for (std::size_t i = 0; i < claims.size(kMostSteps); ++i)
    result.claims.push_back(read_claim(claims.at(i), result.topology));
  return result;
}

}  // namespace chorale
