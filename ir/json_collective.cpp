// Collectives, by name with their chunks per block or chunk by chunk. Ranks and positions are checked here,
// so that a collective from a file is valid; equal sets of ranks become one set.
#include <algorithm>
#include <set>

#include "ir/json.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"
#include "ir/sizes.h"

namespace chorale {
namespace {

constexpr int kMostChunks = 1'000'000;

// Equal sets are shared.
RankSet read_ranks(const JsonReader& json, int ranks, std::set<RankSet>& known) {
  std::vector<Rank> result;
  for (std::size_t i = 0; i < json.size(ranks); ++i) result.push_back(json.at(i).integer(0, ranks - 1));
  if (result.empty()) json.fail("is empty", "name at least one rank");
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    json.fail("names a rank twice", "name each once");
  return *known.insert(std::move(result)).first;
}

// A position in a buffer belongs to one chunk, except that copies of several chunks may be added up in one
// output.
void check_positions(const JsonReader& json, const Collective& collective) {
  std::vector<std::pair<Rank, int>> in, out;
  for (const ChunkSpec& spec : collective.chunks) {
    for (Rank n : spec.pre) in.emplace_back(n, spec.input);
    for (Rank n : spec.post) out.emplace_back(n, spec.output);
  }
  std::sort(in.begin(), in.end());
  std::sort(out.begin(), out.end());
  if (const auto twice = std::adjacent_find(in.begin(), in.end()); twice != in.end())
    json.fail(fmt::format("two chunks lie at one input position of rank {}", twice->first),
              "give them different inputs");
  if (const auto twice = std::adjacent_find(out.begin(), out.end());
      collective.combining && twice != out.end())
    json.fail(fmt::format("two chunks lie at one output position of rank {}", twice->first),
              "give them different outputs");
}

Collective read_custom(const JsonReader& json, int ranks) {
  Collective collective{.custom_name = json["collective"].text(), .ranks = ranks};
  if (collective.custom_name.empty() || kind_named(collective.custom_name))
    json["collective"].fail("'" + collective.custom_name + "' is the name of a known collective",
                            "choose another");
  if (json.has("combining")) collective.combining = json["combining"].boolean();
  if (json.has("chunks_per_block"))
    collective.chunks_per_block = json["chunks_per_block"].integer(1, kMostChunks);
  const JsonReader chunks = json["chunks"];
  std::set<RankSet> sets;
  for (std::size_t i = 0; i < chunks.size(kMostChunks); ++i) {
    const JsonReader chunk = chunks.at(i);
    chunk.require_object({"pre", "post", "input", "output"});
    ChunkSpec spec{.pre = read_ranks(chunk["pre"], ranks, sets),
                   .post = read_ranks(chunk["post"], ranks, sets),
                   .input = static_cast<int>(i),
                   .output = static_cast<int>(i)};
    if (chunk.has("input")) spec.input = chunk["input"].integer(0, kMostChunks);
    if (chunk.has("output")) spec.output = chunk["output"].integer(0, kMostChunks);
    collective.chunks.push_back(std::move(spec));
  }
  if (collective.chunks.empty()) chunks.fail("is empty", "list at least one chunk");
  check_positions(chunks, collective);
  if (const double bytes = bytes_of(collective); bytes > kMostCollectiveBytes)
    chunks.fail(
        fmt::format("take {:.0f} MiB, with all positions of all buffers", bytes / (1 << 20)),
        fmt::format("use smaller positions: {:.0f} MiB is the most", kMostCollectiveBytes / (1 << 20)));
  return collective;
}

// "order", of combining collectives.
void read_order(const JsonReader& json, Collective& collective) {
  if (!json.has("order")) return;
  const JsonReader order = json["order"];
  if (!adds(collective)) order.fail("is of sums, and " + name_of(collective) + " has none", "leave it out");
  collective.order = parse_sum_order(order.text(1 << 20), collective.ranks, order.where());
}

std::string write_order(const Collective& collective) {
  if (collective.order == SumOrder{} || !adds(collective)) return "";
  return ", \"order\": " + quoted(to_string(collective.order));
}

Collective read_named(const JsonReader& json, int ranks, int chunks) {
  const JsonReader name = json["collective"];
  const Rank root = json.has("root") ? json["root"].integer(0, ranks - 1) : 0;
  try {
    return make_collective(name.text(), ranks, chunks, root);
  } catch (const InputError& error) {
    name.fail(error.what());
  }
}

}  // namespace

Collective read_collective(const JsonReader& json, int ranks) {
  json.require_object({"collective", "combining", "chunks", "chunks_per_block", "root", "order"});
  if (json.has("chunks") && json["chunks"].is_array()) {
    if (json.has("root")) json["root"].fail("is of a named collective", "leave it out");
    Collective custom = read_custom(json, ranks);
    read_order(json, custom);
    return custom;
  }
  for (const char* key : {"combining", "chunks_per_block"})
    if (json.has(key)) json[key].fail("is of a collective with a list of chunks", "leave it out");
  Collective named = read_named(json, ranks, json.has("chunks") ? json["chunks"].integer(1, kMostChunks) : 1);
  // Ours have it, too, and then it is 0.
  if (named.root != 0 && !is_rooted(named.kind))
    json["root"].fail(name_of(named) + " has no root", "leave it out");
  read_order(json, named);
  return named;
}

std::string write_collective(const Collective& collective, const std::string& indent) {
  if (!is_custom(collective))
    return fmt::format(R"({{"collective": {}, "chunks": {}, "root": {}{}}})", quoted(name_of(collective)),
                       collective.chunks_per_block, collective.root, write_order(collective));
  return "{" + write_collective_members(collective, indent) + "}";
}

std::string write_collective_members(const Collective& collective, const std::string& indent) {
  std::string members = fmt::format("\"collective\": {}, \"chunks_per_block\": {}",
                                    quoted(name_of(collective)), collective.chunks_per_block);
  if (is_rooted(collective.kind)) members += fmt::format(", \"root\": {}", collective.root);
  members += write_order(collective);
  if (!is_custom(collective)) return members;
  std::vector<std::string> chunks;
  for (const ChunkSpec& spec : collective.chunks)
    chunks.push_back(fmt::format(R"({{"pre":{},"post":{},"input":{},"output":{}}})", list(spec.pre),
                                 list(spec.post), spec.input, spec.output));
  return members +
         fmt::format(", \"combining\": {}, \"chunks\": {}", collective.combining, lines(chunks, indent));
}

Collective read_collective_members(const JsonReader& json, int ranks) {
  if (json.has("chunks")) {
    if (json.has("root")) json["root"].fail("is of a named collective", "leave it out");
    Collective custom = read_custom(json, ranks);
    read_order(json, custom);
    return custom;
  }
  if (json.has("combining")) json["combining"].fail("is of a collective with \"chunks\"", "leave it out");
  Collective named = read_named(json, ranks, json["chunks_per_block"].integer(1, kMostChunks));
  if (json.has("root") && !is_rooted(named.kind))
    json["root"].fail(name_of(named) + " has no root", "leave it out");
  read_order(json, named);
  return named;
}

std::string to_json(const Collective& collective) {
  return write_collective(collective, "") + "\n";
}

Collective collective_from_json(std::string_view text, const std::string& file, int ranks) {
  return read_collective(parse_json(text, file), ranks);
}

}  // namespace chorale
