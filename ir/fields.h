// The fields of a data type, defined once: their names, ranges and meaning. The writer and the reader of JSON
// (ir/json_fields.h) and the properties in Python derive from it, and a test compares docs/schemas with it. A
// row is a member, whose name is that of the field in files and in Python.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "ir/collective.h"
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
  std::string_view name = {};             // where it is not that of the member
  std::string_view key = {};              // in files, where it is not the name
  double least = 0, most = kMostOfField;  // of numbers
  std::size_t longest = 200;              // of texts, and of lists of the outermost of a file
  // INT_MAX means any number, or that a schedule does not exist: null in files, None in Python.
  bool or_any = false;
  bool may_lack = false;             // files may leave it out: it is as it was before
  bool unless_default = false;       // files have it only where it is not the default: it may lack
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

// Returns the name of a member, as the compiler prints it: of GCC "... [with auto Member = &Link::src; ...]",
// of Clang "... [Member = &chorale::Link::src]". It ends in '\0'.
template <auto Member>
consteval std::string_view printed_member() {
  const std::string_view printed = __PRETTY_FUNCTION__;
  const std::size_t begin = printed.find("Member = "), end = printed.find_first_of(";]", begin);
  return printed.substr(0, end).substr(printed.rfind(':', end) + 1);
}
template <auto Member>
inline constexpr auto kMemberText = [] {
  std::array<char, printed_member<Member>().size() + 1> text = {};
  std::ranges::copy(printed_member<Member>(), text.begin());
  return text;
}();
template <auto First, auto... Rest>
constexpr std::string_view name_at_end() {
  if constexpr (sizeof...(Rest) > 0)
    return name_at_end<Rest...>();
  else
    return {kMemberText<First>.data(), kMemberText<First>.size() - 1};
}
template <typename Owner, typename Value>
Owner owner_of(Value Owner::*);

// A row: field<&A::b, &B::c>() is a.b.c, of the name c. `Kind` is a Field with more to it.
template <template <typename, auto...> typename Kind, auto First, auto... Rest>
constexpr auto field_as(FieldWords words = {}) {
  if (words.name.empty()) words.name = name_at_end<First, Rest...>();
  words.may_lack = words.may_lack || words.unless_default;
  return Kind<decltype(owner_of(First)), First, Rest...>{words};
}
template <auto... Path>
constexpr auto field(const FieldWords& words = {}) {
  return field_as<Field, Path...>(words);
}
// Rows of members that have nothing but their names.
template <auto... Members>
constexpr auto plain_fields() {
  return std::tuple{field<Members>()...};
}

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
      field<&Link::src>(), field<&Link::dst>(),
      field<&Link::bandwidth>({.least = 1, .most = 1'000'000, .may_lack = true, .help = "Chunks per round."}),
      field<&Link::alpha_us>(
          {.most = kMost, .may_lack = true, .help = "Microseconds that a step over this link costs."}),
      field<&Link::beta_us_per_byte>({.least = 1e-12,
                                      .most = kMost,
                                      .may_lack = true,
                                      .help = "Microseconds per byte for one unit of bandwidth."})};
};

template <>
struct Fields<SharedLimit> {
  using S = SharedLimit;
  static constexpr std::tuple all = {field<&S::name>({.may_lack = true}),
                                     field<&S::links>(),
                                     field<&S::bandwidth>({.least = 1, .most = 1'000'000}),
                                     field<&S::abilities, &Abilities::multicast>({.unless_default = true}),
                                     field<&S::abilities, &Abilities::reduce>({.unless_default = true}),
                                     field<&S::cables>({.unless_default = true})};
};

template <>
struct Fields<NodeLabel> {
  static constexpr std::tuple all = {field<&NodeLabel::kind>(), field<&NodeLabel::name>()};
};

// Returns numbers of the switches that have the ability.
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
      field<&T::name>({.key = "topology"}),
      field<&T::ranks>({.least = 1, .most = kMostRanks}),
      field<&T::switches>({.most = kMostRanks, .may_lack = true}),
      Able<&Abilities::multicast>{{.name = "multicast", .may_lack = true, .unless_default = true}},
      Able<&Abilities::reduce>{{.name = "reduce", .may_lack = true, .unless_default = true}},
      field<&T::links>({.longest = kMostLinks}),
      field<&T::limits>({.longest = kMostLinks, .may_lack = true}),
      field<&T::call_us>({.unless_default = true, .help = "Microseconds that a call costs."}),
      field<&T::switch_gain>(
          {.least = 1,
           .most = 100,
           .unless_default = true,
           .help = "What switches that multicast or reduce deliver at most, times what their links carry."}),
      field<&T::labels>({.longest = 2 * kMostRanks, .unless_default = true})};
};

template <>
struct Fields<Space> {
  static constexpr std::tuple all = {
      field<&Space::min_chunks>({.least = 1, .most = kMostChunkCount}),
      field<&Space::max_chunks>({.least = 1, .most = kMostChunkCount, .or_any = true}),
      field<&Space::max_steps>({.or_any = true}), field<&Space::max_rounds>({.or_any = true}),
      field<&Space::extra_rounds>(
          {.or_any = true, .help = "Only schedules of at most steps + this rounds."})};
};

template <>
struct Fields<SearchLimits> {
  static constexpr double kMost = static_cast<double>(LLONG_MAX);
  static constexpr std::tuple all = {
      field<&SearchLimits::conflicts>({.most = kMost, .help = "Per question to a solver."}),
      field<&SearchLimits::time_ms>({.most = kMost}), field<&SearchLimits::memory_bytes>({.most = kMost})};
};

template <>
struct Fields<Opening> {
  static constexpr std::tuple all = {
      field<&Opening::steps>(),
      field<&Opening::found>(
          {.help = "The fewest rounds per chunk that were found with at most `steps` steps."}),
      field<&Opening::bound>({.help = "The fewest that are not excluded."})};
};

template <>
struct Fields<Claim> {
  static constexpr std::tuple all = {
      field<&Claim::collective>(),
      field<&Claim::chunks>({.least = 1}),
      field<&Claim::any_chunks>(
          {.unless_default = true,
           .help = "It is about schedules of any chunk count, and 'rounds' are per 'chunks'."}),
      field<&Claim::steps>({.or_any = true, .help = "None: however many."}),
      field<&Claim::rounds>({.or_any = true, .help = "None: there is no schedule at all."}),
      field<&Claim::seconds>({.most = kMostSeconds}),
      field<&Claim::certificate>({.help = "Its kind; Result.to_json() has all of it."})};
};

template <>
struct Fields<TimeClaim> {
  using T = TimeClaim;
  static constexpr std::tuple all = {
      field<&T::block_bytes>({.most = 1e18}),
      field<&T::us>({.most = 1e18, .help = "No schedule ends sooner after the call."}),
      field<&T::claim>({.unless_default = true, .help = "Number of the claim whose prices show it."}),
      field<&T::until>({.least = -1e18,
                        .most = 1e18,
                        .longest = kMostRanks,
                        .unless_default = true,
                        .help = "By rank: inside of a cut in time until then, in microseconds."}),
      field<&T::limits>({.longest = 1'000'000, .unless_default = true})};
};

// A member of certificates of some kinds; the others have none of that name.
template <typename Owner, auto... Path>
struct CertificateField : Field<Owner, Path...> {
  unsigned kinds = 0;  // a bit for each
  constexpr bool is_of(Certificate::Kind kind) const {
    return (kinds >> static_cast<unsigned>(kind) & 1) != 0;
  }
};
template <auto Member>
constexpr auto field_of(std::initializer_list<Certificate::Kind> kinds, const FieldWords& words = {}) {
  CertificateField row = field_as<CertificateField, Member>(words);
  for (const Certificate::Kind kind : kinds) row.kinds |= 1U << static_cast<unsigned>(kind);
  return row;
}

// Their kind comes first in files.
template <>
struct Fields<Certificate> {
  using C = Certificate;
  using K = Certificate::Kind;
  static constexpr std::tuple all = {
      field_of<&C::chunk>({K::Distance, K::Growth, K::Refutation}),
      field_of<&C::rank>({K::Distance}),
      field_of<&C::cuts>({K::Cuts}),
      field_of<&C::group>({K::Cuts, K::Partition, K::Entries}),
      field_of<&C::prices>({K::Cuts, K::Partition, K::Entries, K::Trees, K::Weights}),
      field_of<&C::formula_sha256>({K::Refutation})};
};

// What it does and its schedule follow in files.
template <>
struct Fields<Point> {
  static constexpr std::tuple all = {
      field<&Point::cost, &Cost::steps>(),
      field<&Point::cost, &Cost::rounds>(),
      field<&Point::cost, &Cost::chunks>({.least = 1}),
      field<&Point::method>(),
      field<&Point::construction>({.may_lack = true, .help = "What made the schedule."}),
      field<&Point::reduce_scatter_steps>(
          {.unless_default = true,
           .help = "Steps of an AllReduce before its Allgather begins, of method 'composed'."}),
      field<&Point::on_frontier>(),
      field<&Point::proven>(),
      field<&Point::bound>({.help = "The fewest rounds per chunk that are not excluded with as many steps."}),
      Derived<Point, gap>{{.name = "gap", .most = 1e18}},
      field<&Point::seconds>({.most = kMostSeconds})};
};

template <>
struct Fields<Result> {
  using R = Result;
  static constexpr std::tuple all = {
      field<&R::kind>(),
      field<&R::topology>(),
      field<&R::collective>(),
      field<&R::space>(),
      field<&R::limits>(),
      field<&R::complete>(),
      field<&R::complete_chunks>({.most = kMostChunkCount,
                                  .or_any = true,
                                  .may_lack = true,
                                  .unstated = kNotStated,
                                  .help = "No schedule of at most this many chunks per block is better than "
                                          "the points; None: of any number."}),
      field<&R::stopped>({.help = "Why not all was decided; '' if all was."}),
      field<&R::seconds>({.most = kMostSeconds}),
      field<&R::points>({.longest = 10'000}),
      field<&R::openings>({.longest = 100'000}),
      field<&R::claims>({.longest = 10'000}),
      field<&R::time_claims>({.longest = 10'000, .unless_default = true})};
};

template <>
struct Fields<SharedPath> {
  static constexpr std::tuple all = {
      field<&SharedPath::bandwidth_gbs>({.least = 1e-6}),
      field<&SharedPath::children>({.least = 1, .most = kMostFanOut, .may_lack = true})};
};

template <>
struct Fields<HostPath> {
  static constexpr std::tuple all = {field<&HostPath::uplink>(), field<&HostPath::socket>()};
};

template <>
struct Fields<Level> {
  using M = LinkModel;
  static constexpr auto kLink = &Level::link;
  static constexpr std::tuple all = {
      field<&Level::name>({.longest = 40}),
      field<&Level::fan_out>({.least = 1, .most = kMostFanOut}),
      field<kLink, &M::shape>({.may_lack = true}),
      field<kLink, &M::bandwidth_gbs>({.least = 1e-6}),
      field<kLink, &M::ports>({.least = 1, .most = 1024, .may_lack = true}),
      field<kLink, &M::latency_us>({.may_lack = true}),
      field<kLink, &M::stream_gbs>({.least = 1e-6, .unless_default = true}),
      field<kLink, &M::rails>({.unless_default = true}),
      field<kLink, &M::switch_gain>({.least = 1, .most = 100, .unless_default = true}),
      field<kLink, &M::exit>({.unless_default = true}),
      field<kLink, &M::detour>({.unless_default = true}),
      field<kLink, &M::host>({.unless_default = true})};
};

template <>
struct Fields<Axis> {
  static constexpr std::tuple all = {field<&Axis::name>({.longest = 40}),
                                     field<&Axis::size>({.least = 1, .most = kMostFanOut})};
};

inline constexpr int kMostChunkSpecs = 1'000'000;

template <>
struct Fields<ChunkSpec> {
  using C = ChunkSpec;
  static constexpr std::tuple all = {field<&C::pre>(), field<&C::post>(),
                                     field<&C::input>({.most = kMostChunkSpecs, .may_lack = true}),
                                     field<&C::output>({.most = kMostChunkSpecs, .may_lack = true}),
                                     field<&C::summed>({.unless_default = true})};
};

inline std::string collective_name(const Collective& collective) {
  return name_of(collective);
}
inline void take_name(Collective& collective, const std::string& name) {
  collective.custom_name = name;
}

// Its number of ranks is that of the machine, or of the program, in whose file it is. A named one has its
// chunks by its kind: files list those of custom ones only.
template <>
struct Fields<Collective> {
  using C = Collective;
  static constexpr std::tuple all = {
      View<C, collective_name, take_name>{{.name = "name", .key = "collective"}},
      field<&C::chunks_per_block>({.least = 1, .most = kMostChunkSpecs, .may_lack = true}),
      field<&C::root>({.may_lack = true}),
      field<&C::order>({.longest = 1 << 20, .unless_default = true}),
      field<&C::combining>({.may_lack = true}),
      field<&C::chunks>({.longest = kMostChunkSpecs})};
};

}  // namespace chorale
