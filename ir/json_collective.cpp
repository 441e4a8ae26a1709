// Collectives, by name with their chunks per block or chunk by chunk. Ranks and positions are checked here,
// so that a collective from a file is valid; equal sets of ranks become one set.
#include <algorithm>
#include <set>

#include "ir/collective.h"
#include "ir/fields.h"
#include "ir/json.h"
#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/words.h"

namespace chorale {
namespace {

// A chunk: {"pre":[0],"post":[0,1,2],"input":0,"output":4}. Equal sets of ranks are stored once, so that
// thousands of chunks over all ranks take the memory of one set.
struct ChunkFields {
  int ranks = 0;
  mutable std::set<RankSet> known = {};
  static std::string_view between(const FieldWords&) { return ","; }
  static std::string_view colon() { return ":"; }

  static std::string write(const RankSet& set, const FieldWords&) {
    return list(std::vector<Rank>(set.begin(), set.end()));
  }
  void read(const JsonReader& json, const FieldWords&, RankSet& set) const {
    std::vector<Rank> result;
    for (std::size_t i = 0; i < json.size(ranks); ++i) result.push_back(json.at(i).integer(0, ranks - 1));
    if (result.empty()) json.fail("is empty", "name at least one rank");
    std::sort(result.begin(), result.end());
    if (std::adjacent_find(result.begin(), result.end()) != result.end())
      json.fail("names a rank twice", "name each once");
    set = *known.insert(std::move(result)).first;
  }
};

// What files have of a collective besides its number of ranks; a custom one has its chunks.
struct CollectiveFields {
  int ranks = 0;
  std::string indent = {};
  static std::string_view between(const FieldWords&) { return ", "; }
  static std::string_view colon() { return ": "; }

  // A root of rooted kinds alone, chunks and `combining` of custom ones alone, an order where sums are.
  static std::optional<bool> has(const Collective& owner, const FieldWords& words) {
    if (words.name == "root") return is_rooted(owner.kind);
    if (words.name == "chunks") return is_custom(owner);
    if (words.name == "order" && !adds(owner) && !is_custom(owner)) return false;
    if (words.name == "combining" && !is_custom(owner)) return false;
    return {};
  }
  static std::string write(const SumOrder& order, const FieldWords&) { return quoted(to_string(order)); }
  std::string write(const std::vector<ChunkSpec>& chunks, const FieldWords&) const {
    return lines_of(chunks, indent, ChunkFields());
  }

  // A custom collective must not look like one of a kind, whose chunks follow from its name.
  static void read(const JsonReader& json, const FieldWords&, std::string& name) {
    name = json.text();
    if (name.empty() || kind_named(name))
      json.fail("'" + name + "' is the name of a known collective", "choose another");
  }
  void read(const JsonReader& json, const FieldWords& words, SumOrder& order) const {
    order = parse_sum_order(json.text(words.longest), ranks, json.where());
  }
  // Without positions chunk i lies at position i, in input and output.
  void read(const JsonReader& json, const FieldWords& words, std::vector<ChunkSpec>& chunks) const {
    const ChunkFields codec{ranks};
    for (const JsonReader& each : json.elements(words.longest)) {
      const int position = static_cast<int>(chunks.size());
      chunks.push_back({.input = position, .output = position});
      require_fields<ChunkSpec>(each);
      read_members(each, chunks.back(), codec);
    }
    if (chunks.empty()) json.fail("is empty", "list at least one chunk");
  }
};

// A position in a buffer belongs to one chunk, except that copies of several chunks may be added up in one
// output.
void check_positions(const JsonReader& json, const Collective& collective) {
  std::vector<std::pair<Rank, int>> in, out;
  const std::vector<std::vector<Chunk>> operands = operands_of(collective);
  for (std::size_t c = 0; c < collective.chunks.size(); ++c) {
    const ChunkSpec& spec = collective.chunks[c];
    if (spec.summed && (spec.pre.size() != 1 || collective.combining || operands[c].empty()))
      json.at(c).fail("is summed, and no rank alone adds up copies of other chunks at its output",
                      "list these, and name that rank in \"pre\"");
    for (Rank n : spec.pre)
      if (!spec.summed) in.emplace_back(n, spec.input);
    for (Rank n : spec.post) out.emplace_back(n, spec.output);
  }
  std::sort(in.begin(), in.end());
  std::sort(out.begin(), out.end());
  if (const auto twice = std::adjacent_find(in.begin(), in.end()); twice != in.end())
    json.fail(fmt::format("two chunks lie at one input position of rank {}", twice->first),
              "give them different inputs");
  const auto twice = std::adjacent_find(out.begin(), out.end());
  if (collective.combining && twice != out.end())
    json.fail(fmt::format("two chunks lie at one output position of rank {}", twice->first),
              "give them different outputs");
  if (!collective.combining && collective.order != SumOrder{} && twice == out.end())
    json.fail("have an order of sums, and no two are added up", "leave the order out");
}

Collective read_custom(const JsonReader& json, int ranks) {
  Collective collective{.ranks = ranks};
  // Whether chunks are sums decides whether each can have a position of its own.
  if (json.has("combining")) collective.combining = json["combining"].boolean();
  read_members(json, collective, CollectiveFields{ranks});
  const JsonReader chunks = json["chunks"];
  check_positions(chunks, collective);
  if (const double bytes = bytes_of(collective); bytes > kMostCollectiveBytes)
    chunks.fail(
        fmt::format("take {:.0f} MiB, with all positions of all buffers", bytes / (1 << 20)),
        fmt::format("use smaller positions: {:.0f} MiB is the most", kMostCollectiveBytes / (1 << 20)));
  return collective;
}

// By its name, with so many chunks per block; its root and order are in both forms of files.
Collective read_named(const JsonReader& json, int ranks, int chunks) {
  const JsonReader name = json["collective"];
  const Rank root = json.has("root") ? json["root"].integer(0, ranks - 1) : 0;
  const std::string spelled = name.text();
  const std::optional<CollectiveKind> kind = kind_spelled(spelled);
  if (!kind)
    name.fail("unknown name '" + spelled.substr(0, 60) + "'",
              did_you_mean(spelled, collective_names(), "use one of " + joined(collective_names())));
  if (const std::optional<Fault> fault = flaw(*kind, ranks, chunks, root))
    name.fail(fault->words, fault->remedy);
  Collective named = make_collective(*kind, ranks, chunks, root);
  if (!json.has("order")) return named;
  const JsonReader order = json["order"];
  if (!adds(named)) order.fail("is of sums, and " + name_of(named) + " has none", "leave it out");
  CollectiveFields{ranks}.read(order, {.longest = 1 << 20}, named.order);
  return named;
}

void refuse_root(const JsonReader& json, const Collective& named) {
  if (json.has("root") && !is_rooted(named.kind))
    json["root"].fail(name_of(named) + " has no root", "leave it out");
}

}  // namespace

// Two forms have the key "chunks": a list of chunks, or the number of chunks per block of a named collective
// (1 if it is left out).
Collective read_collective(const JsonReader& json, int ranks) {
  json.require_object({"collective", "combining", "chunks", "chunks_per_block", "root", "order"});
  if (json.has("chunks") && json["chunks"].is_array()) return read_custom(json, ranks);
  for (const char* key : {"combining", "chunks_per_block"})
    if (json.has(key)) json[key].fail("is of a collective with a list of chunks", "leave it out");
  Collective named =
      read_named(json, ranks, json.has("chunks") ? json["chunks"].integer(1, kMostChunkSpecs) : 1);
  if (named.root != 0) refuse_root(json, named);  // ours have it, too, and then it is 0
  return named;
}

// Named collectives have three members in one line, root 0 among them for those that have no root; custom
// ones list their chunks, one a line.
std::string write_collective(const Collective& collective, const std::string& indent) {
  if (is_custom(collective)) return write_fields(collective, CollectiveFields{0, indent});
  const bool ordered = adds(collective) && collective.order != SumOrder{};
  return fmt::format(R"({{"collective": {}, "chunks": {}, "root": {}{}}})", quoted(name_of(collective)),
                     collective.chunks_per_block, collective.root,
                     ordered ? ", \"order\": " + quoted(to_string(collective.order)) : "");
}

std::string write_collective_members(const Collective& collective, const std::string& indent) {
  return write_members(collective, CollectiveFields{0, indent});
}

// Members of a program's file, where the number is "chunks_per_block" and "chunks" is always a list.
Collective read_collective_members(const JsonReader& json, int ranks) {
  if (json.has("chunks")) return read_custom(json, ranks);
  if (json.has("combining")) json["combining"].fail("is of a collective with \"chunks\"", "leave it out");
  Collective named = read_named(json, ranks, json["chunks_per_block"].integer(1, kMostChunkSpecs));
  refuse_root(json, named);
  return named;
}

std::string to_json(const Collective& collective) {
  return write_collective(collective, "") + "\n";
}

Collective collective_from_json(std::string_view text, const std::string& file, int ranks) {
  return read_collective(parse_json(text, file), ranks);
}

}  // namespace chorale
