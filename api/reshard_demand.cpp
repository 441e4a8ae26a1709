// Tensors are cut along the borders of all their parts, old and new, into cells: all bytes of a cell are held
// by the same ranks and wanted by the same ranks. Cells of any tensors with the same holders and the same
// receivers are one part of the demand, which keeps the collective small: it has as many kinds of chunks as
// there are such pairs, not as there are tensors.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/reshard.h"
#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/limits.h"

namespace chorale {
namespace {

constexpr int kMostDimensions = 8, kMostTensors = 10'000;
constexpr double kMostReshardBytes = 1e15;  // of all tensors; as a double and as an integer they are exact

// Row by row, as torch.distributed's DeviceMesh lists its ranks: the last axis varies the fastest.
RankMesh mesh_from(const JsonReader& json) {
  RankMesh mesh;
  std::int64_t all = 1;
  const JsonReader sizes = json["mesh"], ranks = json["ranks"];
  for (std::size_t i = 0; i < sizes.size(kMostDimensions); ++i) {
    mesh.sizes.push_back(sizes.at(i).integer(1, kMostRanks));
    all *= mesh.sizes.back();
  }
  std::set<Rank> seen;
  for (std::size_t i = 0; i < ranks.size(kMostRanks); ++i) {
    mesh.ranks.push_back(ranks.at(i).integer(0, kMostRanks - 1));
    if (!seen.insert(mesh.ranks.back()).second) ranks.at(i).fail("is there twice", "list each rank once");
  }
  if (all != std::ssize(mesh.ranks))
    json["mesh"].fail(fmt::format("has {} places, and there are {} ranks", all, mesh.ranks.size()),
                      "let the sizes multiply to the number of ranks");
  return mesh;
}

// "replicate", "Shard(0)", "R", "S(0)".
int placement_from(const JsonReader& json, std::size_t dimensions) {
  std::string text = json.text(20);
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (text == "replicate" || text == "replicate()" || text == "r") return -1;
  for (std::size_t d = 0; d < dimensions; ++d)
    if (text == fmt::format("shard({})", d) || text == fmt::format("s({})", d)) return static_cast<int>(d);
  json.fail("'" + text + "' is not a placement of this tensor",
            fmt::format("use \"replicate\", or \"shard(0)\" with a dimension below {}", dimensions));
}

std::vector<int> placements_from(const JsonReader& json, const RankMesh& mesh, std::size_t dimensions) {
  std::vector<int> placements;
  for (std::size_t i = 0; i < json.size(kMostDimensions); ++i)
    placements.push_back(placement_from(json.at(i), dimensions));
  if (placements.size() != mesh.sizes.size())
    json.fail(fmt::format("has {} placements, and the mesh {} axes", placements.size(), mesh.sizes.size()),
              "give one for each axis");
  return placements;
}

// On the mesh of all tensors, or one of its own.
ReshardLayout layout_from(const JsonReader& json, const RankMesh& usual, std::size_t dimensions) {
  if (json.is_array()) return {usual, placements_from(json, usual, dimensions)};
  json.require_object({"ranks", "mesh", "placements"});
  const RankMesh own = mesh_from(json);
  return {own, placements_from(json["placements"], own, dimensions)};
}

ReshardTensor tensor_from(const JsonReader& json, const RankMesh& from, const RankMesh& to) {
  json.require_object({"name", "shape", "element_bytes", "count", "from", "to"});
  ReshardTensor tensor{.name = json["name"].text()};
  for (std::size_t i = 0; i < json["shape"].size(kMostDimensions); ++i)
    tensor.shape.push_back(json["shape"].at(i).long_integer(1, std::int64_t{1} << 40));
  if (tensor.shape.empty()) json["shape"].fail("is empty", "give the sizes of its dimensions");
  if (json.has("element_bytes")) tensor.element_bytes = json["element_bytes"].integer(1, 64);
  if (json.has("count")) tensor.count = json["count"].integer(1, 1'000'000);
  tensor.from = layout_from(json["from"], from, tensor.shape.size());
  tensor.to = layout_from(json["to"], to, tensor.shape.size());
  return tensor;
}

// A cell is never empty, so a rank whose box is empty contains none.
bool contains(const Box& outer, const Box& inner) {
  for (std::size_t d = 0; d < inner.size(); ++d)
    if (inner[d].first < outer[d].first || inner[d].second > outer[d].second) return false;
  return true;
}

// The boxes between all borders of the given ones.
// A product over dimensions, since boxes are: the borders of one dimension do not depend on the others.
std::vector<Box> cells(const std::vector<Box>& boxes, std::size_t dimensions) {
  std::vector<Box> all = {{}};
  for (std::size_t d = 0; d < dimensions; ++d) {
    std::set<std::int64_t> borders;
    for (const Box& box : boxes) borders.insert({box[d].first, box[d].second});
    std::vector<Box> longer;
    for (const Box& box : all)
      for (auto from = borders.begin(); std::next(from) != borders.end(); ++from) {
        longer.push_back(box);
        longer.back().emplace_back(*from, *std::next(from));
      }
    all = std::move(longer);
  }
  return all;
}

// Ranks of the mesh that have this cell. Cells cross no border, so a box has all of a cell or nothing.
RankSet ranks_with(const RankMesh& mesh, const std::vector<Box>& boxes, const Box& cell) {
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < boxes.size(); ++i)
    if (contains(boxes[i], cell)) ranks.push_back(mesh.ranks[i]);
  std::ranges::sort(ranks);
  return ranks;
}

// Of all tensors, on one side.
RankSet ranks_of(const ReshardQuestion& question, ReshardLayout ReshardTensor::*side) {
  std::set<Rank> ranks;
  for (const ReshardTensor& tensor : question.tensors)
    ranks.insert((tensor.*side).mesh.ranks.begin(), (tensor.*side).mesh.ranks.end());
  return std::vector<Rank>(ranks.begin(), ranks.end());
}

}  // namespace

ReshardQuestion reshard_from_json(std::string_view text, const std::string& file) {
  const JsonReader json = parse_json(text, file);
  json.require_object({"reshard", "from", "to", "tensors"});
  ReshardQuestion question{.name = json["reshard"].text()};
  for (const char* const side : {"from", "to"}) json[side].require_object({"ranks", "mesh"});
  const RankMesh from = mesh_from(json["from"]), to = mesh_from(json["to"]);
  double bytes = 0;
  for (std::size_t i = 0; i < json["tensors"].size(kMostTensors); ++i) {
    const ReshardTensor& tensor = question.tensors.emplace_back(tensor_from(json["tensors"].at(i), from, to));
    double its = static_cast<double>(tensor.element_bytes) * tensor.count;
    for (const std::int64_t side : tensor.shape) its *= static_cast<double>(side);
    bytes += its;
    if (bytes > kMostReshardBytes)
      json["tensors"].at(i).fail("brings the tensors to more than 1e15 bytes",
                                 "give smaller tensors, or fewer");
  }
  if (question.tensors.empty()) json["tensors"].fail("is empty", "give at least one tensor");
  return question;
}

RankSet holders_of(const ReshardQuestion& question) {
  return ranks_of(question, &ReshardTensor::from);
}

RankSet receivers_of(const ReshardQuestion& question) {
  return ranks_of(question, &ReshardTensor::to);
}

// As DTensor shards: an axis cuts a dimension into pieces of ceil(size / ranks), of which the last ones are
// shorter or empty. Axes on one dimension cut one after the other, the first axis outermost.
std::vector<Box> boxes_of(const ReshardLayout& layout, const std::vector<std::int64_t>& shape) {
  const auto& [mesh, placements] = layout;
  std::vector<Box> boxes;
  for (int i = 0; i < static_cast<int>(mesh.ranks.size()); ++i) {
    Box box;
    for (const std::int64_t size : shape) box.emplace_back(0, size);
    // Row-major: position i of the mesh is at i / stride % size along an axis.
    int stride = static_cast<int>(mesh.ranks.size());
    for (std::size_t a = 0; a < mesh.sizes.size(); ++a) {
      stride /= mesh.sizes[a];
      if (placements[a] < 0) continue;
      auto& [from, to] = box[placements[a]];
      const std::int64_t piece = (to - from + mesh.sizes[a] - 1) / mesh.sizes[a];
      const std::int64_t at = i / stride % mesh.sizes[a], begin = from, end = to;
      from = std::min(end, begin + at * piece);
      to = std::min(end, from + piece);
    }
    boxes.push_back(std::move(box));
  }
  return boxes;
}

double bytes_of(const ReshardQuestion& question, const ReshardPart::Region& region) {
  const ReshardTensor& tensor = question.tensors[region.tensor];
  double all = static_cast<double>(tensor.element_bytes) * tensor.count;
  for (const auto& [from, to] : region.box) all *= static_cast<double>(to - from);
  return all;
}

// In the order of holders and receivers, so the same question gives the same plan.
std::vector<ReshardPart> reshard_parts(const ReshardQuestion& question) {
  std::map<std::pair<RankSet, RankSet>, ReshardPart> parts;
  for (int t = 0; t < static_cast<int>(question.tensors.size()); ++t) {
    const ReshardTensor& tensor = question.tensors[t];
    const std::vector<Box> from = boxes_of(tensor.from, tensor.shape), to = boxes_of(tensor.to, tensor.shape);
    std::vector<Box> both = from;
    both.insert(both.end(), to.begin(), to.end());
    for (const Box& cell : cells(both, tensor.shape.size())) {
      const RankSet holders = ranks_with(tensor.from.mesh, from, cell),
                    wanted = ranks_with(tensor.to.mesh, to, cell);
      if (wanted.empty()) continue;
      ReshardPart& part = parts[{holders, wanted}];
      part.holders = holders;
      part.wanted = wanted;
      part.regions.push_back({t, cell});
      part.bytes += bytes_of(question, part.regions.back());
    }
  }
  std::vector<ReshardPart> all;
  for (auto& [ranks, part] : parts) all.push_back(std::move(part));
  return all;
}

}  // namespace chorale
