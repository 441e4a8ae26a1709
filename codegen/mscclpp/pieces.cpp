// Two things cut a chunk of a file: a group of P thread blocks, into P parts, and a pipeline, into units of
// bytes. Parts need a number of pieces that P divides, for all groups: their least common multiple. Units are
// cut by the greatest common divisor of all pipelines' units (the grain), so each unit is a whole number of
// pieces. How many units there are depends on the data; two show what one unit hands to the next, and with
// reused scratch two more than fit show that the third waits for the first.
#include "codegen/mscclpp/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/error.h"

namespace chorale::mscclpp {
namespace {

// Of the executor.
constexpr long long kReusedScratch = 1 << 26;  // bytes
constexpr long long kAlignment = 16;
// Ours.
constexpr int kMostPieces = 4096;

void refuse_too_many(long long pieces, const std::string& file) {
  if (pieces > kMostPieces)
    throw InputError(file, fmt::format("groups and pipelines cut a chunk into {} pieces", pieces),
                     fmt::format("at most {} are understood here", kMostPieces));
}

// Bytes of a scratch chunk that units of pipelines reuse in round-robin order; 0: they do not.
// The executor gives scratch 64 MiB and cuts them into as many chunks as the rank has (kReusedScratch,
// rounded up to kAlignment); unit u of a pipeline then begins at u * unit modulo that.
long long reused_room(const std::vector<Gpu>& gpus, const std::string& file) {
  bool in_pipeline = false;
  const Operation* outside = nullptr;
  for_all_operations(gpus, [&](const Operation& op, const Operation* pipeline) {
    for_all_places(op, [&](const PlanPlace& place) {
      if (place.buffer != Buffer::Scratch) return;
      if (pipeline) in_pipeline = true;
      if (!pipeline) outside = &op;
    });
  });
  if (!in_pipeline) return 0;
  if (outside)
    throw InputError(outside->where,
                     outside->name + ": uses scratch that units of a pipeline use alternately");
  long long room = 0;
  for (const Gpu& gpu : gpus) {
    if (gpu.scratch == 0) continue;
    long long chunk = (kReusedScratch + gpu.scratch - 1) / gpu.scratch;
    chunk = (chunk + kAlignment - 1) / kAlignment * kAlignment;
    if (room != 0 && chunk != room)
      throw InputError(file, "units alternate in scratch, and ranks have different numbers of its chunks");
    room = chunk;
  }
  for_all_operations(gpus, [&](const Operation& op, const Operation*) {
    if (op.name == "pipeline" && room % op.unit_bytes != 0)
      throw InputError(op.where,
                       fmt::format("a scratch chunk of {} bytes is not a multiple of the unit", room),
                       "choose a power of two");
  });
  return room;
}

}  // namespace

// Pieces of a chunk: a multiple of all groups' parts, such that chunks of a pipeline are whole units, and at
// least as many as units are to be seen. Pieces of scratch that units reuse are counted by its room.
PlanPieces::PlanPieces(const std::vector<Gpu>& gpus, bool reuse, const std::string& file) {
  long long pieces = 1;
  for_all_operations(gpus, [&](const Operation& op, const Operation*) {
    if (op.shape) pieces = std::lcm(pieces, static_cast<long long>(op.parts));
    if (op.name == "pipeline") grain_ = std::gcd(grain_, op.unit_bytes);
    refuse_too_many(pieces, file);
  });
  const long long room = reuse ? reused_room(gpus, file) : 0;
  long long least = 1;
  for_all_operations(gpus, [&](const Operation& op, const Operation*) {
    if (op.name != "pipeline") return;
    const long long unit = op.unit_bytes / grain_;
    pieces = std::lcm(pieces, unit / std::gcd(unit, static_cast<long long>(op.chunks)));
    const long long units = room > 0 ? room / op.unit_bytes + 2 : 2;
    least = std::max(least, (units * unit + op.chunks - 1) / op.chunks);
    refuse_too_many(pieces, file);
  });
  pieces *= (least + pieces - 1) / pieces;
  refuse_too_many(pieces, file);
  pieces_ = static_cast<int>(pieces);
  scratch_pieces_ = room > 0 ? static_cast<int>(room / grain_) : pieces_;
}

int PlanPieces::units(const Operation& pipeline) const {
  return static_cast<int>(static_cast<long long>(pipeline.chunks) * pieces_ * grain_ / pipeline.unit_bytes);
}

// Outside of pipelines this thread block's part of the operation, inside the pieces of one unit, in reused
// scratch modulo the chunk.
PieceRange PlanPieces::range(const Operation& op, const PlanPlace& place, const Operation* pipeline,
                             int unit) const {
  if (!pipeline) {
    const long long whole = static_cast<long long>(op.size) * pieces_;
    const int begin = static_cast<int>(op.part * whole / op.parts);
    return {place.index * pieces_ + begin, static_cast<int>((op.part + 1) * whole / op.parts) - begin};
  }
  const int length = static_cast<int>(pipeline->unit_bytes / grain_);
  if (place.buffer == Buffer::Scratch && scratch_pieces_ != pieces_)
    return {place.index * scratch_pieces_ + unit * length % scratch_pieces_, length};
  return {place.index * pieces_ + unit * length, length};
}

}  // namespace chorale::mscclpp
