// The fields of a data type, defined once: their names, ranges and meaning. The writer and the reader of JSON
// (ir/json_fields.h) and the properties in Python derive from it, and a test compares docs/schemas with it. A
// row is a member, named as in files.
#pragma once

#include <climits>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ir/frontier.h"
#include "ir/hierarchy.h"
#include "ir/limits.h"
#include "ir/named.h"
#include "ir/placement.h"
#include "ir/topology.h"

namespace chorale {

inline constexpr double kMostSeconds = 1e12;
inline constexpr double kMostOfField = 1'000'000'000;  // so that two can be added in an int
inline constexpr double kMostFanOut = 1 << 20;
inline constexpr double kMostChunkCount = 1'000'000;

struct FieldWords {
  std::string_view name = {};
  std::string_view key = {};              // in files, where it is not the name
  double least = 0, most = kMostOfField;  // of numbers
  std::size_t longest = 200;              // of texts, and of lists of the outermost of a file
  // INT_MAX means any number, or that a schedule does not exist: null in files, None in Python.
  bool or_any = false;
  bool may_lack = false;             // files may leave it out: it is as it was before
  bool unless_default = false;       // files have it only where it is not the default
  std::optional<int> unstated = {};  // the value of a number that a file does not have
  std::string_view help = {};        // in Python, if the name is not self-explanatory
};

constexpr std::string_view key_of(const FieldWords& words) {
  return words.key.empty() ? words.name : words.key;
}

// The member at the end of a path of members: Field<A, &A::b, &B::c> is a.b.c.
template <typename Owner, auto... Path>
struct Field {
  FieldWords words = {};
  static decltype(auto) of(const Owner& owner) { return (owner.*....*Path); }
  static decltype(auto) of(Owner& owner) { return (owner.*....*Path); }
};

// What follows of other members: files have it for people, and it must agree when it is read.
template <typename Owner, auto Function>
struct Derived {
  FieldWords words = {};
  static auto of(const Owner& owner) { return Function(owner); }
};

// What files have of other members in a form of its own: the function to tell it, and that to take it.
template <typename Owner, auto Told, auto Taken>
struct View {
  FieldWords words = {};
  static auto of(const Owner& owner) { return Told(owner); }
  template <typename Value>
  static void take(Owner& owner, const Value& value) {
    Taken(owner, value);
  }
};

template <typename Type>
struct Fields;  // has `all`, a tuple of Field

// Calls visit(field) for each field of the type, in their order in files.
template <typename Type, typename Visit>
constexpr void fields(const Visit& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Fields<Type>::all);
}

template <>
struct Fields<Link> {
  static constexpr double kMost = 1e9;
  static constexpr std::tuple all = {
      Field<Link, &Link::src>{{.name = "src"}}, Field<Link, &Link::dst>{{.name = "dst"}},
      Field<Link, &Link::bandwidth>{{.name = "bandwidth",
                                     .least = 1,
                                     .most = 1'000'000,
                                     .may_lack = true,
                                     .help = "Chunks per round."}},
      Field<Link, &Link::alpha_us>{{.name = "alpha_us",
                                    .most = kMost,
                                    .may_lack = true,
                                    .help = "Microseconds that a step over this link costs."}},
      Field<Link, &Link::beta_us_per_byte>{{.name = "beta_us_per_byte",
                                            .least = 1e-12,
                                            .most = kMost,
                                            .may_lack = true,
                                            .help = "Microseconds per byte for one unit of bandwidth."}}};
};

template <>
struct Fields<SharedLimit> {
  using S = SharedLimit;
  static constexpr std::tuple all = {
      Field<S, &S::name>{{.name = "name", .may_lack = true}},
      Field<S, &S::links>{{.name = "links"}},
      Field<S, &S::bandwidth>{{.name = "bandwidth", .least = 1, .most = 1'000'000}},
      Field<S, &S::abilities, &Abilities::multicast>{
          {.name = "multicast", .may_lack = true, .unless_default = true}},
      Field<S, &S::abilities, &Abilities::reduce>{
          {.name = "reduce", .may_lack = true, .unless_default = true}},
      Field<S, &S::cables>{{.name = "cables", .may_lack = true, .unless_default = true}}};
};

// Numbers of the switches that have the ability.
template <bool Abilities::*ability>
std::vector<int> able(const Topology& topology) {
  std::vector<int> switches;
  for (std::size_t i = 0; i < topology.abilities.size(); ++i)
    if (topology.abilities[i].*ability) switches.push_back(static_cast<int>(i));
  return switches;
}
// Requires numbers of switches.
template <bool Abilities::*ability>
void enable(Topology& topology, const std::vector<int>& switches) {
  if (!switches.empty()) topology.abilities.resize(topology.switches);
  for (const int i : switches) topology.abilities[i].*ability = true;
}

// What is below it, and its ways through that, follow in files.
template <>
struct Fields<Topology> {
  using T = Topology;
  static constexpr std::size_t kMostLinks = 1'000'000;
  template <bool Abilities::*ability>
  using Able = View<T, able<ability>, enable<ability>>;
  static constexpr std::tuple all = {
      Field<T, &T::name>{{.name = "name", .key = "topology"}},
      Field<T, &T::ranks>{{.name = "ranks", .least = 1, .most = kMostRanks}},
      Field<T, &T::switches>{{.name = "switches", .most = kMostRanks, .may_lack = true}},
      Able<&Abilities::multicast>{{.name = "multicast", .may_lack = true, .unless_default = true}},
      Able<&Abilities::reduce>{{.name = "reduce", .may_lack = true, .unless_default = true}},
      Field<T, &T::links>{{.name = "links", .longest = kMostLinks}},
      Field<T, &T::limits>{{.name = "limits", .longest = kMostLinks, .may_lack = true}}};
};

template <>
struct Fields<Space> {
  static constexpr std::tuple all = {
      Field<Space, &Space::min_chunks>{{.name = "min_chunks", .least = 1, .most = kMostChunkCount}},
      Field<Space, &Space::max_chunks>{
          {.name = "max_chunks", .least = 1, .most = kMostChunkCount, .or_any = true}},
      Field<Space, &Space::max_steps>{{.name = "max_steps", .or_any = true}},
      Field<Space, &Space::max_rounds>{{.name = "max_rounds", .or_any = true}},
      Field<Space, &Space::extra_rounds>{{.name = "extra_rounds",
                                          .or_any = true,
                                          .help = "Only schedules of at most steps + this rounds."}}};
};

template <>
struct Fields<SearchLimits> {
  static constexpr double kMost = static_cast<double>(LLONG_MAX);
  static constexpr std::tuple all = {
      Field<SearchLimits, &SearchLimits::conflicts>{
          {.name = "conflicts", .most = kMost, .help = "Per question to a solver."}},
      Field<SearchLimits, &SearchLimits::time_ms>{{.name = "time_ms", .most = kMost}},
      Field<SearchLimits, &SearchLimits::memory_bytes>{{.name = "memory_bytes", .most = kMost}}};
};

template <>
struct Fields<Opening> {
  static constexpr std::tuple all = {
      Field<Opening, &Opening::steps>{{.name = "steps"}},
      Field<Opening, &Opening::found>{
          {.name = "found",
           .help = "The fewest rounds per chunk that were found with at most `steps` steps."}},
      Field<Opening, &Opening::bound>{{.name = "bound", .help = "The fewest that are not excluded."}}};
};

template <>
struct Fields<Claim> {
  static constexpr std::tuple all = {
      Field<Claim, &Claim::collective>{{.name = "collective"}},
      Field<Claim, &Claim::chunks>{{.name = "chunks", .least = 1}},
      Field<Claim, &Claim::any_chunks>{
          {.name = "any_chunks",
           .may_lack = true,
           .unless_default = true,
           .help = "It is about schedules of any chunk count, and 'rounds' are per 'chunks'."}},
      Field<Claim, &Claim::steps>{{.name = "steps", .or_any = true, .help = "None: however many."}},
      Field<Claim, &Claim::rounds>{
          {.name = "rounds", .or_any = true, .help = "None: there is no schedule at all."}},
      Field<Claim, &Claim::seconds>{{.name = "seconds", .most = kMostSeconds}},
      Field<Claim, &Claim::certificate>{
          {.name = "certificate", .help = "Its kind; Result.to_json() has all of it."}}};
};

constexpr unsigned bits_of(std::initializer_list<Certificate::Kind> kinds) {
  unsigned bits = 0;
  for (const Certificate::Kind kind : kinds) bits |= 1U << static_cast<unsigned>(kind);
  return bits;
}

// A member of certificates of some kinds; the others have none of that name.
template <auto Member>
struct CertificateField : Field<Certificate, Member> {
  unsigned kinds = 0;  // bits_of
  constexpr bool is_of(Certificate::Kind kind) const {
    return (kinds >> static_cast<unsigned>(kind) & 1) != 0;
  }
};

// Their kind comes first in files.
template <>
struct Fields<Certificate> {
  using C = Certificate;
  using K = Certificate::Kind;
  static constexpr std::tuple all = {
      CertificateField<&C::chunk>{{{.name = "chunk"}}, bits_of({K::Distance, K::Growth, K::Refutation})},
      CertificateField<&C::rank>{{{.name = "rank"}}, bits_of({K::Distance})},
      CertificateField<&C::cuts>{{{.name = "cuts"}}, bits_of({K::Cuts})},
      CertificateField<&C::group>{{{.name = "group"}}, bits_of({K::Cuts, K::Partition, K::Entries})},
      CertificateField<&C::prices>{{{.name = "prices"}},
                                   bits_of({K::Cuts, K::Partition, K::Entries, K::Trees, K::Weights})},
      CertificateField<&C::formula_sha256>{{{.name = "formula_sha256"}}, bits_of({K::Refutation})},
      CertificateField<&C::cubes>{{{.name = "cubes", .may_lack = true, .unless_default = true}},
                                  bits_of({K::Refutation})}};
};

// What it does and its schedule follow in files.
template <>
struct Fields<Point> {
  static constexpr std::tuple all = {
      Field<Point, &Point::cost, &Cost::steps>{{.name = "steps"}},
      Field<Point, &Point::cost, &Cost::rounds>{{.name = "rounds"}},
      Field<Point, &Point::cost, &Cost::chunks>{{.name = "chunks", .least = 1}},
      Field<Point, &Point::method>{{.name = "method"}},
      Field<Point, &Point::construction>{
          {.name = "construction", .may_lack = true, .help = "What made the schedule."}},
      Field<Point, &Point::reduce_scatter_steps>{
          {.name = "reduce_scatter_steps",
           .may_lack = true,
           .unless_default = true,
           .help = "Steps of an AllReduce before its Allgather begins, of method 'composed'."}},
      Field<Point, &Point::on_frontier>{{.name = "on_frontier"}},
      Field<Point, &Point::proven>{{.name = "proven"}},
      Field<Point, &Point::bound>{
          {.name = "bound", .help = "The fewest rounds per chunk that are not excluded with as many steps."}},
      Derived<Point, gap>{{.name = "gap", .most = 1e18}},
      Field<Point, &Point::seconds>{{.name = "seconds", .most = kMostSeconds}}};
};

template <>
struct Fields<Result> {
  using R = Result;
  static constexpr std::tuple all = {
      Field<R, &R::kind>{{.name = "kind"}},
      Field<R, &R::topology>{{.name = "topology"}},
      Field<R, &R::collective>{{.name = "collective"}},
      Field<R, &R::space>{{.name = "space"}},
      Field<R, &R::limits>{{.name = "limits"}},
      Field<R, &R::complete>{{.name = "complete"}},
      Field<R, &R::complete_chunks>{{.name = "complete_chunks",
                                     .most = kMostChunkCount,
                                     .or_any = true,
                                     .may_lack = true,
                                     .unstated = kNotStated,
                                     .help =
                                         "No schedule of at most this many chunks per block is better than "
                                         "the points; None: of any number."}},
      Field<R, &R::stopped>{{.name = "stopped", .help = "Why not all was decided; '' if all was."}},
      Field<R, &R::seconds>{{.name = "seconds", .most = kMostSeconds}},
      Field<R, &R::points>{{.name = "points", .longest = 10'000}},
      Field<R, &R::openings>{{.name = "openings", .longest = 100'000}},
      Field<R, &R::claims>{{.name = "claims", .longest = 10'000}}};
};

template <>
struct Fields<SharedPath> {
  static constexpr std::tuple all = {
      Field<SharedPath, &SharedPath::bandwidth_gbs>{{.name = "bandwidth_gbs", .least = 1e-6}},
      Field<SharedPath, &SharedPath::children>{
          {.name = "children", .least = 1, .most = kMostFanOut, .may_lack = true}}};
};

template <>
struct Fields<HostPath> {
  static constexpr std::tuple all = {Field<HostPath, &HostPath::uplink>{{.name = "uplink"}},
                                     Field<HostPath, &HostPath::socket>{{.name = "socket"}}};
};

template <>
struct Fields<Level> {
  template <auto Member>
  using OfLink = Field<Level, &Level::link, Member>;
  static constexpr std::tuple all = {
      Field<Level, &Level::name>{{.name = "name", .longest = 40}},
      Field<Level, &Level::fan_out>{{.name = "fan_out", .least = 1, .most = kMostFanOut}},
      OfLink<&LinkModel::shape>{{.name = "shape", .may_lack = true}},
      OfLink<&LinkModel::bandwidth_gbs>{{.name = "bandwidth_gbs", .least = 1e-6}},
      OfLink<&LinkModel::ports>{{.name = "ports", .least = 1, .most = 1024, .may_lack = true}},
      OfLink<&LinkModel::latency_us>{{.name = "latency_us", .may_lack = true}},
      OfLink<&LinkModel::stream_gbs>{
          {.name = "stream_gbs", .least = 1e-6, .may_lack = true, .unless_default = true}},
      OfLink<&LinkModel::rails>{{.name = "rails", .may_lack = true, .unless_default = true}},
      OfLink<&LinkModel::exit>{{.name = "exit", .may_lack = true, .unless_default = true}},
      OfLink<&LinkModel::detour>{{.name = "detour", .may_lack = true, .unless_default = true}},
      OfLink<&LinkModel::host>{{.name = "host", .may_lack = true, .unless_default = true}}};
};

template <>
struct Fields<Axis> {
  static constexpr std::tuple all = {
      Field<Axis, &Axis::name>{{.name = "name", .longest = 40}},
      Field<Axis, &Axis::size>{{.name = "size", .least = 1, .most = kMostFanOut}}};
};

}  // namespace chorale
