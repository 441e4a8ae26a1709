// What depends on the whole file comes first: how finely chunks are cut (PlanPieces), the stretches of
// scratch that packets come in, the blocks that meet at a barrier. Then each operation becomes
// instructions where it stands; a counter gets its number when it is first met. What can only be seen at
// the end is checked last: a channel, semaphore or packet that is signalled and awaited differently often
// would drift from launch to launch.
#include "codegen/mscclpp/read_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include "codegen/mscclpp/file.h"
#include "codegen/passes/pieces.h"
#include "ir/error.h"
#include "ir/json_reader.h"
#include "ir/sizes.h"

namespace chorale {
namespace {

using namespace mscclpp;

constexpr long long kMostChunks = 1 << 24;
constexpr int kMostInstructions = 1 << 20;

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

// The part of a buffer that an operation accesses, in chunks of the program.
struct PieceRange {
  int first = 0;
  int count = 1;
};

// How the chunks of a plan are cut into chunks of a PeerProgram: so that parts of groups and units of
// pipelines are chunks of their own.
//
// Two things cut a chunk of a file: a group of P thread blocks, into P parts, and a pipeline, into units of
// bytes. Parts need a number of pieces that P divides, for all groups: their least common multiple. Units are
// cut by the greatest common divisor of all pipelines' units (the grain), so each unit is a whole number of
// pieces. How many units there are depends on the data; two show what one unit hands to the next, and with
// reused scratch two more than fit show that the third waits for the first.
class PlanPieces {
 public:
  PlanPieces() = default;

  // `reuse`: units of pipelines reuse scratch in round-robin order. Throws InputError where that has no
  // meaning, or pieces would be too many.
  //
  // Pieces of a chunk: a multiple of all groups' parts, such that chunks of a pipeline are whole units, and
  // at least as many as units are to be seen. Pieces of scratch that units reuse are counted by its room.
  PlanPieces(const std::vector<Gpu>& gpus, bool reuse, const std::string& file) {
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

  int of_chunk() const { return pieces_; }
  int of_scratch_chunk() const { return scratch_pieces_; }

  // Of a pipeline, the number of units that are unrolled; their real number depends on the size of the data.
  int units(const Operation& pipeline) const {
    return static_cast<int>(static_cast<long long>(pipeline.chunks) * pieces_ * grain_ / pipeline.unit_bytes);
  }

  // `pipeline` is the one that the operation is in, or null.
  // Outside of pipelines this thread block's part of the operation, inside the pieces of one unit, in reused
  // scratch modulo the chunk.
  PieceRange range(const Operation& op, const PlanPlace& place, const Operation* pipeline, int unit) const {
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

 private:
  int pieces_ = 1, scratch_pieces_ = 1;
  long long grain_ = 0;  // bytes of a piece, in pipelines
};

// Each rank's input goes to the output of the rank `step` further.
Collective send_further(int ranks, int step) {
  Collective result{.custom_name = "sendrecv", .ranks = ranks};
  for (Rank n = 0; n < ranks; ++n) result.chunks.push_back({.pre = {n}, .post = {(n + step) % ranks}});
  return result;
}

// From the file's chunks to ours, and from operations to instructions.
// Three passes: over the whole plan for what is global, over its operations in their order for the
// instructions, and over the counters for their balance.
class Translator {
 public:
  Translator(const JsonReader& root, std::string file, int most_operations, const PromisedOf& promised,
             MscclppFile& result)
      : root_(root),
        file_(std::move(file)),
        promised_(promised),
        result_(result),
        gpus_(gpus_of(root, most_operations, result.notes)) {}

  void translate() {
    PeerProgram& program = result_.program;
    program.name = root_["name"].text();
    const std::optional<CollectiveKind> kind = kind_named(root_["collective"].text());
    program.collective = kind && is_offered(*kind) ? *kind : CollectiveKind::Custom;
    program.in_place = root_["inplace"].boolean();
    program.double_scratch =
        root_.has("use_double_scratch_buffer") && root_["use_double_scratch_buffer"].boolean();
    result_.protocol = root_["protocol"].text();
    outputs_in_place();
    buffers_of_the_root();
    scratch_rules();
    pieces_ = PlanPieces(gpus_, root_.has("reuse_resources") && root_["reuse_resources"].boolean(), file_);
    result_.pieces = pieces_.of_chunk();
    sizes();
    collective();
    packet_stretches();
    for (Rank n = 0; n < ranks(); ++n) {
      const Gpu& gpu = gpus_[n];
      program.ranks[n].input_chunks = gpu.input * result_.pieces;
      program.ranks[n].output_chunks = gpu.output * result_.pieces;
      program.ranks[n].scratch_chunks = gpu.scratch * pieces_.of_scratch_chunk();
      find_meetings(n);
      program.ranks[n].blocks.resize(gpu.blocks.size());
      for (std::size_t b = 0; b < gpu.blocks.size(); ++b) rank_block(n, static_cast<int>(b));
    }
    if (const std::string words = excess(program); !words.empty())
      throw InputError(file_, words, "use a smaller plan");
    balance();
    find_pieces(program);
  }

 private:
  // Of counters: the end of a channel that a peer has the other end of, or that none has; a meeting of
  // blocks; a semaphore; the flags of a stretch of packets; what a proxy is asked, and has flushed. Of
  // channels the last number of a name says whether they are port channels.
  enum class Kind { Channel, Unpaired, Barrier, Semaphore, Packet, Asked, Flushed };
  using Name = std::array<int, 3>;  // kind, and what distinguishes counters of a kind

  // The thread block that signals or waits, and how often in a launch.
  struct End {
    Rank rank = -1;
    int block = -1;
    int times = 0;
    std::string where = {};  // the first time
  };

  int ranks() const { return static_cast<int>(gpus_.size()); }

  // Plans in place may give the length of only one of the two buffers.
  void outputs_in_place() {
    for (Rank n = 0; n < ranks(); ++n) {
      Gpu& gpu = gpus_[n];
      if (!result_.program.in_place || result_.program.collective != CollectiveKind::AllReduce ||
          gpu.output != 0)
        continue;
      gpu.output = gpu.input;
      if (n == 0)
        result_.notes.push_back(root_["gpus"].at(0)["output_chunks"].where() +
                                ": 0 is taken for as many as input_chunks; the loader divides by it");
    }
  }

  // Where the file names the root, the others' buffers that the collective does not give them are there for
  // the loader alone, which divides by their numbers of chunks.
  void buffers_of_the_root() {
    const CollectiveKind kind = result_.program.collective;
    if (!is_rooted(kind) || !root_.has("root")) return;
    root_rank_ = root_["root"].integer(0, ranks() - 1);
    for (Rank n = 0; n < ranks(); ++n)
      if (n != root_rank_) (row_of(kind).before == Participants::Root ? gpus_[n].input : gpus_[n].output) = 0;
  }

  // Every position, in chunks of the program, is an integer.
  void sizes() const {
    const long long pieces = std::max(pieces_.of_chunk(), pieces_.of_scratch_chunk());
    const auto require = [&](long long chunks, const std::string& where) {
      if (chunks * pieces > kMostChunks)
        throw InputError(where, fmt::format("{} chunks of {} pieces", chunks, pieces),
                         fmt::format("at most {} pieces are understood here", kMostChunks));
    };
    long long all = 0;
    for (const Gpu& gpu : gpus_) all += 0LL + gpu.input + gpu.output + gpu.scratch;
    require(all, file_);
    for_all_operations(gpus_, [&](const Operation& op, const Operation*) {
      require(op.chunks, op.where);
      for_all_places(op, [&](const PlanPlace& place) { require(1LL * place.index + op.size, op.where); });
    });
  }

  // A packet takes twice its data's room, so plain data and packets cannot share scratch; and plain stores to
  // a peer's scratch, and switches, cannot address its two copies.
  void scratch_rules() const {
    bool plain = false, packet = false;
    for_all_operations(gpus_, [&](const Operation& op, const Operation*) {
      for_all_places(op, [&](const PlanPlace& place) {
        if (place.buffer != Buffer::Scratch) return;
        (place.role.packet ? packet : plain) = true;
        if (plain && packet)
          throw InputError(op.where, op.name + ": scratch is used for packets and without",
                           "use one of the two in a plan");
        if (!place.role.packet && place.role.where != Where::Local && result_.program.double_scratch)
          throw InputError(op.where,
                           op.name + ": the executor always takes the first half of a peer's double scratch",
                           "use packets there");
      });
    });
    if (packet && result_.protocol != "LL")
      throw InputError(root_["protocol"].where(), "packets need twice the scratch", "use \"LL\"");
  }

  // The file has no number of chunks per block, which follows from the buffers of all ranks: by the output
  // where that has fewer blocks than the input (ReduceScatter), else by the input. Rooted collectives have
  // their root where only one rank has a buffer.
  void collective() {
    PeerProgram& program = result_.program;
    const CollectiveKind kind = program.collective;
    int input = 0, output = 0;
    std::vector<Rank> with_input, with_output;
    for (Rank n = 0; n < ranks(); ++n) {
      input = std::max(input, gpus_[n].input);
      output = std::max(output, gpus_[n].output);
      if (gpus_[n].input > 0) with_input.push_back(n);
      if (gpus_[n].output > 0) with_output.push_back(n);
    }
    program.ranks.resize(ranks());
    if (kind == CollectiveKind::Custom) return custom(std::max(input, output));
    const int blocks = input_blocks(kind, ranks());
    const int chunks = blocks > output_blocks(kind, ranks()) ? output : input / blocks;
    const std::vector<Rank>& with_root = row_of(kind).before == Participants::Root ? with_input : with_output;
    const Rank found = is_rooted(kind) && with_root.size() == 1 ? with_root[0] : 0;
    const Rank root = root_rank_.value_or(found);
    if (chunks < 1)
      throw InputError(file_, "has no chunks of " + name_of(kind),
                       "give input_chunks, output_chunks of at least 1");
    result_.collective = make_collective(kind, ranks(), chunks * result_.pieces, root);
    program.chunks_per_block = result_.collective.chunks_per_block;
  }

  // With a split mask, which the plan has not, the DSL's sendrecv is between groups of 2^k ranks.
  int groups_of() const {
    int least = ranks();
    for (const std::vector<Rank>* peers : {&gpus_[0].peers, &gpus_[0].ports})
      for (const Rank peer : *peers) least = std::min(least, peer);
    return least > 0 && std::has_single_bit(unsigned(least)) && ranks() % least == 0 && least < ranks()
               ? least
               : 1;
  }

  void custom(int longest) {
    const std::string name = root_["collective"].text();
    PromisedOf known = promised_;
    if (const int step = groups_of(); name == "sendrecv" && !promised_) {
      known = [step](int ranks) { return send_further(ranks, step); };
      if (step > 1)
        result_.notes.push_back(
            fmt::format("{}: is of groups of {} ranks, as channels of rank 0 lead: each "
                        "rank's input goes to the rank {} further",
                        root_["collective"].where(), step, step));
    }
    result_.collective =
        promised_collective(known, root_["collective"].where(), name, ranks(), longest, result_.pieces);
    result_.program.collective = result_.collective.kind;
    result_.program.chunks_per_block = result_.collective.chunks_per_block;
  }

  // A stretch of scratch is what lies between two ends of packets that any operation touches.
  void packet_stretches() {
    for_all_operations(gpus_, [&](const Operation& op, const Operation* pipeline) {
      for_all_places(op, [&](const PlanPlace& place) {
        if (!place.role.packet) return;
        const PieceRange r = pieces_.range(op, place, pipeline, 0);
        for (Rank n : place.ranks) {
          stretches_[n].insert(r.first);
          stretches_[n].insert(r.first + r.count);
        }
      });
    });
  }

  // Pipelines are unrolled: all operations for the first unit, then for the second.
  void rank_block(Rank n, int block) {
    program_block_ = block;
    rank_ = n;
    for (const Operation& op : gpus_[n].blocks[block].operations) {
      if (op.name != "pipeline") emit(op, nullptr, 0);
      for (int unit = 0; op.name == "pipeline" && unit < pieces_.units(op); ++unit)
        for (const Operation& inner : op.inner) emit(inner, &op, unit);
    }
  }

  void put(PeerInstruction instruction) {
    if (++instructions_ > kMostInstructions)
      throw InputError(file_, fmt::format("its pipelines are more than {} instructions", kMostInstructions),
                       "use larger units");
    result_.program.ranks[rank_].blocks[program_block_].instructions.push_back(std::move(instruction));
  }

  void sync() { put({}); }

  // Has the proxy of a port channel do something; it comes into being when it is first asked.
  template <typename F>
  void ask(const Operation& op, int channel, const F& action) {
    raise(op, rank_, counter(rank_, {static_cast<int>(Kind::Asked), channel, 1}), false);
    std::vector<PeerBlock>& blocks = result_.program.ranks[rank_].blocks;
    const auto [at, added] = proxy_of_.try_emplace({rank_, channel}, static_cast<int>(blocks.size()));
    if (added) {
      blocks.emplace_back();
      result_.proxies.push_back({rank_, at->second});
    }
    const int asking = std::exchange(program_block_, at->second);
    wait(op, counter(rank_, {static_cast<int>(Kind::Asked), channel, 1}), 0);
    sync();
    action();
    sync();
    program_block_ = asking;
  }

  void flush(const Operation& op, int channel) {
    const int flushed = counter(rank_, {static_cast<int>(Kind::Flushed), channel, 1});
    ask(op, channel, [&] { raise(op, rank_, flushed, false); });
    wait(op, flushed, 0);
  }

  // An operation is a Move, a Sync, a barrier, or signals and waits of its channels and semaphores, in the
  // order in which it lists them.
  void emit(const Operation& op, const Operation* pipeline, int unit) {
    if (op.shape) {
      move(op, pipeline, unit);
    } else if (op.name == "nop") {
      sync();
    } else if (op.name == "barrier") {
      barrier(op);
    }
    for (int channel : op.channels) {
      if (op.name == "wait" || op.name == "rlxwait")
        wait(op, counter(rank_, {static_cast<int>(Kind::Channel), channel, op.port}), 0);
      else if (op.name == "flush")
        flush(op, channel);
      else if (!op.shape && op.port)
        ask(op, channel, [&] { signal(op, channel); });
      else if (!op.shape)
        signal(op, channel);
    }
    for (int semaphore : op.semaphores) {
      const int id = counter(rank_, {static_cast<int>(Kind::Semaphore), semaphore, 0});
      if (op.name == "sem_acquire")
        wait(op, id, gpus_[rank_].semaphores[semaphore]);
      else
        raise(op, rank_, id, false);
    }
  }

  // Numbers are given in the order of first use, so those of a rank have no gaps.
  int counter(Rank n, const Name& name) {
    auto& counters = counters_[n];
    const auto [at, added] = counters.try_emplace(name, static_cast<int>(counters.size()));
    result_.program.ranks[n].counters = static_cast<int>(counters.size());
    return at->second;
  }

  // Throws where another block of the plan has this end already.
  End& end(std::map<std::pair<Rank, int>, End>& ends, const Operation& op, Rank n, int counter) {
    End& end = ends[{n, counter}];
    if (end.times == 0) end = {.rank = rank_, .block = program_block_, .where = op.where};
    if (end.rank != rank_ || end.block != program_block_)
      throw InputError(op.where,
                       fmt::format("{}: rank {}, thread block {} does that at the same offset", op.name,
                                   end.rank, end.block),
                       "let one thread block do it");
    ++end.times;
    return end;
  }

  // Values of a counter count its signals within a launch, since each has one block that raises it (`end`).
  void raise(const Operation& op, Rank n, int counter, bool relaxed) {
    put({.opcode = PeerOpcode::Signal,
         .rank = n,
         .counter = counter,
         .value = end(raised_, op, n, counter).times,
         .relaxed = relaxed});
  }

  // The i-th wait of a channel is for its i-th signal. A semaphore that starts at v lets the first v waits
  // pass: they are left out.
  void wait(const Operation& op, int counter, int initial) {
    const int value = end(awaited_, op, rank_, counter).times - initial;
    if (value >= 1) put({.opcode = PeerOpcode::Wait, .counter = counter, .value = value});
  }

  // The k-th channel of a rank to a peer ends in the peer's k-th channel back. Where the peer has fewer, no
  // rank waits for the signal, which still has a counter.
  void signal(const Operation& op, int channel) {
    const auto& mine = op.port ? gpus_[rank_].ports : gpus_[rank_].peers;
    const Rank peer = mine[channel];
    const auto& theirs = op.port ? gpus_[peer].ports : gpus_[peer].peers;
    const auto ordinal = std::count(mine.begin(), mine.begin() + channel, peer);
    int other = 0;
    for (auto left = ordinal; other < static_cast<int>(theirs.size()); ++other)
      if (theirs[other] == rank_ && left-- == 0) break;
    const Name name = other < static_cast<int>(theirs.size())
                          ? Name{static_cast<int>(Kind::Channel), other, op.port}
                          : Name{static_cast<int>(Kind::Unpaired), rank_, 2 * channel + op.port};
    raise(op, peer, counter(peer, name), op.name == "rlxsignal" && !op.port);
  }

  // A block counts once for a barrier however often it comes to it. Barriers inside of pipelines are not
  // counted, and so are refused.
  void find_meetings(Rank n) {
    for (int b = 0; b < static_cast<int>(gpus_[n].blocks.size()); ++b) {
      const auto come = [&](const Operation& op) {
        if (op.barrier < 0) return;
        std::vector<int>& blocks = meetings_[{n, op.barrier}];
        if (blocks.empty() || blocks.back() != b) blocks.push_back(b);
      };
      for (const Operation& op : gpus_[n].blocks[b].operations) come(op);
    }
  }

  // Each block raises a counter of its own and waits for those of all others, to the number of times that it
  // has come itself.
  void barrier(const Operation& op) {
    const std::vector<int>& blocks = meetings_[{rank_, op.barrier}];
    if (static_cast<int>(blocks.size()) != op.blocks)
      throw InputError(op.where, fmt::format("barrier: {} thread blocks come to it, {} are awaited",
                                             blocks.size(), op.blocks));
    const auto name = [&](int b) { return Name{static_cast<int>(Kind::Barrier), op.barrier, b}; };
    sync();
    raise(op, rank_, counter(rank_, name(program_block_)), false);
    const int times = raised_.at({rank_, counter(rank_, name(program_block_))}).times;
    for (int b : blocks)
      if (b != program_block_)
        put({.opcode = PeerOpcode::Wait, .counter = counter(rank_, name(b)), .value = times});
    sync();
  }

  // Packets: the flags of each stretch are awaited before the Move and raised after it, as if they were
  // counters; `packets` states to the verifier that data and flags are one store. One Sync stands
  // between.
  void move(const Operation& op, const Operation* pipeline, int unit) {
    bool arrive = false;
    for (const PlanPlace& place : op.from)
      if (place.role.packet && op.name != "ppkt")  // ppkt takes packets as they are
        for (int stretch : stretches(op, place, place.ranks[0], pipeline, unit)) {
          put({.opcode = PeerOpcode::Wait, .counter = packet(place.ranks[0], stretch)});
          arrive = true;
        }
    if (arrive) sync();
    const int count = pieces_.range(op, op.from[0], pipeline, unit).count;
    const auto one = [&](const PlanPlace& from, const PlanPlace& to) {
      put({.opcode = PeerOpcode::Move,
           .does = {.from = {place_of(op, from, pipeline, unit)},
                    .to = {place_of(op, to, pipeline, unit)},
                    .count = count}});
    };
    if (op.port) {
      if (arrive) sync();  // all threads have seen all packets before one thread asks
      for (std::size_t i = 0; i < op.to.size(); ++i) {
        const int channel = op.channels[i];
        ask(op, channel, [&] {
          one(op.from[op.shape->pairs ? i : 0], op.to[i]);
          raise_packets(op, op.to[i], pipeline, unit, true);
        });
        if (op.name == "pws" || op.name == "pwsf") ask(op, channel, [&] { signal(op, channel); });
        if (op.name == "pwsf") flush(op, channel);
      }
      return;
    }
    if (op.shape->pairs) {
      for (std::size_t i = 0; i < op.from.size(); ++i) one(op.from[i], op.to[i]);
    } else {
      PeerInstruction move{.opcode = PeerOpcode::Move, .does = {.count = count}};
      for (const PlanPlace& place : op.from) move.does.from.push_back(place_of(op, place, pipeline, unit));
      for (const PlanPlace& place : op.to) move.does.to.push_back(place_of(op, place, pipeline, unit));
      put(std::move(move));
    }
    bool first = true;
    for (const PlanPlace& place : op.to) first = !raise_packets(op, place, pipeline, unit, first) && first;
  }

  DataPlace place_of(const Operation& op, const PlanPlace& place, const Operation* pipeline, int unit) {
    const Slot slot{place.buffer, pieces_.range(op, place, pipeline, unit).first};
    return place.role.where == Where::Switch && place.ranks.size() > 1
               ? DataPlace{slot, -1, team(place.ranks)}
               : DataPlace{slot, place.ranks.front()};
  }

  // Raises the flags of what was stored as packets; a Sync stands before the first. Returns whether there are
  // any.
  bool raise_packets(const Operation& op, const PlanPlace& place, const Operation* pipeline, int unit,
                     bool first) {
    if (!place.role.packet) return false;
    for (Rank n : place.ranks)
      for (int stretch : stretches(op, place, n, pipeline, unit)) {
        if (std::exchange(first, false)) sync();
        const int id = packet(n, stretch);
        raise(op, n, id, false);
        if (raised_.at({n, id}).times > 1)
          throw InputError(op.where, op.name + ": stores packets twice at one offset in a launch",
                           "their flags are the same: give them other offsets");
      }
    return true;
  }

  int team(const std::vector<Rank>& ranks) {
    Teams& teams = result_.program.teams;
    const auto at = std::ranges::find(teams, ranks);
    if (at != teams.end()) return static_cast<int>(at - teams.begin());
    teams.push_back(ranks);
    return static_cast<int>(teams.size()) - 1;
  }

  // By their first pieces: the borders that packet_stretches() has put between the first piece and the last.
  std::vector<int> stretches(const Operation& op, const PlanPlace& place, Rank n, const Operation* pipeline,
                             int unit) const {
    const PieceRange r = pieces_.range(op, place, pipeline, unit);
    const std::set<int>& all = stretches_.at(n);
    return {all.lower_bound(r.first), all.lower_bound(r.first + r.count)};
  }

  int packet(Rank n, int first) {
    const Name name{static_cast<int>(Kind::Packet), first, 0};
    const bool known = counters_[n].contains(name);
    const int id = counter(n, name);
    if (!known)
      result_.packets.push_back(
          {.rank = n, .counter = id, .first = first, .count = *stretches_.at(n).upper_bound(first) - first});
    return id;
  }

  // Channels and semaphores are not reset between launches.
  void balance() const {
    for (const auto& [n, counters] : counters_)
      for (const auto& [name, id] : counters) {
        const auto waits = awaited_.find({n, id});
        if (waits == awaited_.end()) continue;
        const auto raises = raised_.find({n, id});
        const int times = raises == raised_.end() ? 0 : raises->second.times;
        if (times != waits->second.times)
          throw InputError(waits->second.where,
                           fmt::format("rank {} waits {} times in a launch for what is signalled {} times", n,
                                       waits->second.times, times),
                           "launches would drift apart");
      }
  }

  const JsonReader& root_;
  const std::string file_;
  const PromisedOf& promised_;
  MscclppFile& result_;
  std::vector<Gpu> gpus_;
  std::optional<Rank> root_rank_ = {};  // that the file names
  PlanPieces pieces_ = {};
  std::map<Rank, std::set<int>> stretches_ = {};
  std::map<Rank, std::map<Name, int>> counters_ = {};
  std::map<std::pair<Rank, int>, End> raised_ = {}, awaited_ = {};  // by counter
  Rank rank_ = 0;                                                   // whose block is being translated
  int program_block_ = 0;
  int instructions_ = 0;
  std::map<std::pair<Rank, int>, int> proxy_of_ = {};  // by rank and port channel: its block
  // Blocks that have a barrier, by rank and barrier.
  std::map<std::pair<Rank, int>, std::vector<int>> meetings_ = {};
};

}  // namespace

MscclppFile mscclpp_from_json(std::string_view text, const std::string& file, int most_operations,
                              const PromisedOf& promised) {
  const JsonReader root = parse_json(text, file);
  MscclppFile result;
  Translator(root, file, most_operations, promised, result).translate();
  return result;
}

bool is_mscclpp_plan(std::string_view text, const std::string& file) {
  return parse_json(text, file).has("gpus");
}

}  // namespace chorale
