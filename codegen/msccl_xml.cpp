// Prints a block program in the form of MSCCL's executors, whose steps can do less than ours: wait for one
// other step, and move a limited number of chunks. So an instruction may become several steps: `nop`s that
// wait for all dependencies but the last, and then its chunks in parts, of which the first waits for the last
// dependency. A wait for the instruction is a wait for its last part. Numbers of steps are therefore not
// those of instructions; last_step has them by instruction, and is known for all blocks of a rank before any
// dependency is printed.
#include "codegen/msccl_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "codegen/passes/pieces.h"
#include "ir/number_in.h"
#include "ir/shown.h"
#include "ir/sizes.h"
#include "ir/slot.h"

namespace chorale {
namespace {

// Loaders want counts below MSCCL_MAX_COUNT, which is 72.
constexpr int kMostChunksAStep = 71, kMostChannels = 32, kMostBlocksAChannel = 32;

// Several dependencies need steps that do nothing else; several chunks too many, several steps.
struct XmlStep {
  DataOperation does = {};
  const BlockReference* after = nullptr;
};

// Only the first part waits: the others follow it in their block.
std::vector<XmlStep> steps_of(const Block& block, std::vector<int>& last_step) {
  std::vector<XmlStep> steps;
  for (const BlockInstruction& i : block.instructions) {
    for (std::size_t k = 0; k + 1 < i.after.size(); ++k) steps.push_back({{}, &i.after[k]});
    const BlockReference* after = i.after.empty() ? nullptr : &i.after.back();
    for (int from = 0; from < i.does.count; from += kMostChunksAStep) {
      DataOperation part = i.does;
      for (std::vector<DataPlace>* places : {&part.from, &part.to})
        for (DataPlace& place : *places) place = next_place(place, from);
      part.count = std::min(kMostChunksAStep, i.does.count - from);
      steps.push_back({part, after});
      after = nullptr;
    }
    last_step.push_back(static_cast<int>(steps.size()) - 1);
  }
  return steps;
}

std::string print_step(int number, const XmlStep& step, const std::vector<std::vector<int>>& last_step,
                       bool waited_for) {
  const bool nothing = does_nothing(step.does);
  const OperationShape& shape = *shape_of(step.does);
  // What a shape does not use is filled with the other one: loaders want both. hasdep is 1 if another step
  // waits for it.
  const Slot src = nothing ? Slot{Buffer::Input, -1} : shape.reads ? src_of(step.does) : dst_of(step.does);
  const Slot dst = nothing ? Slot{Buffer::Output, -1} : shape.stores ? dst_of(step.does) : src_of(step.does);
  return fmt::format(
      "      <step s=\"{}\" type=\"{}\" srcbuf=\"{}\" srcoff=\"{}\" dstbuf=\"{}\" dstoff=\"{}\" cnt=\"{}\" "
      "depid=\"{}\" deps=\"{}\" hasdep=\"{}\"/>\n",
      number, shape.name, letter_of(src.buffer), src.index, letter_of(dst.buffer), dst.index,
      nothing ? 0 : step.does.count, step.after ? step.after->block : -1,
      step.after ? last_step[step.after->block][step.after->instruction] : -1, waited_for ? 1 : 0);
}

// For attributes, which are in double quotes everywhere.
std::string escaped(const std::string& text) {
  std::string result;
  for (char c : shown(text)) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '"')
      result += "&quot;";
    else
      result += c;
  }
  return result;
}

Fault limit(const FaultPlace& place, std::string words, std::string remedy) {
  return {Fault::Kind::Limit, place, std::move(words), std::move(remedy)};
}

// What no number of steps could express. Copies of a value to two slots, and sums of three, are among them: a
// step has one source and one destination.
std::optional<Fault> not_expressible(const Collective& collective, const BlockProgram& program) {
  if (!is_offered(row_of(collective.kind).result))
    return limit({}, "MSCCL XML has no such collective: " + name_of(collective), "use --target json");
  std::optional<Fault> fault;
  for_each_instruction(program, [&](Rank n, int b, int number, const BlockInstruction& i) {
    const char* const what = i.barrier >= 0                ? "lets blocks meet (a barrier)"
                             : applies(i.does)             ? "applies a function (an epilogue)"
                             : shape_of(i.does) == nullptr ? "takes or stores a number of values"
                                                           : nullptr;
    if (what != nullptr && !fault)
      fault = limit({.rank = n, .block = b, .instruction = number},
                    std::string("MSCCL XML has no step that ") + what, "use --target json");
  });
  return fault;
}

// As executors count: blocks that send and blocks that receive on a channel, each for itself; one that does
// both is in both counts.
std::optional<Fault> beyond_channels(const BlockProgram& program) {
  std::map<std::pair<int, int>, int> senders, receivers;  // rank, channel
  for (std::size_t n = 0; n < program.ranks.size(); ++n)
    for (const Block& block : program.ranks[n].blocks) {
      if (block.channel >= kMostChannels)
        return limit({}, fmt::format("needs more than {} channels", kMostChannels), "use fewer chunks");
      const std::pair<int, int> where{static_cast<int>(n), block.channel};
      if ((block.send_to >= 0 && ++senders[where] > kMostBlocksAChannel) ||
          (block.recv_from >= 0 && ++receivers[where] > kMostBlocksAChannel))
        return limit({.rank = where.first},
                     fmt::format("rank {} has more than {} blocks on channel {}", n, kMostBlocksAChannel,
                                 block.channel),
                     "use fewer peers per rank");
    }
  return std::nullopt;
}

// By steps as they are printed, waits included.
std::optional<Fault> too_many_steps(const BlockProgram& program, int most_steps) {
  for (std::size_t n = 0; n < program.ranks.size(); ++n)
    for (std::size_t b = 0; b < program.ranks[n].blocks.size(); ++b) {
      std::vector<int> last_step;
      const std::size_t steps = steps_of(program.ranks[n].blocks[b], last_step).size();
      if (static_cast<int>(steps) > most_steps)
        return limit({.rank = static_cast<Rank>(n), .block = static_cast<int>(b)},
                     fmt::format("rank {}, block {} has {} steps", n, b, steps),
                     fmt::format("the executor loads {}; use more channels or fewer chunks", most_steps));
    }
  return std::nullopt;
}

// Steps that others wait for are collected first: hasdep stands at a step, before the steps that wait are
// printed. Executors raise no flag for a step without it.
std::string print_rank(Rank n, const BlockRank& rank) {
  std::string text = fmt::format("  <gpu id=\"{}\" i_chunks=\"{}\" o_chunks=\"{}\" s_chunks=\"{}\">\n", n,
                                 rank.input_chunks, rank.output_chunks, rank.scratch_chunks);
  std::vector<std::vector<XmlStep>> steps;
  std::vector<std::vector<int>> last_step(rank.blocks.size());
  std::set<std::pair<int, int>> waited_for;  // block, step
  for (std::size_t b = 0; b < rank.blocks.size(); ++b)
    steps.push_back(steps_of(rank.blocks[b], last_step[b]));
  for (const auto& block : steps)
    for (const XmlStep& step : block)
      if (step.after)
        waited_for.insert({step.after->block, last_step[step.after->block][step.after->instruction]});
  for (std::size_t b = 0; b < rank.blocks.size(); ++b) {
    const Block& block = rank.blocks[b];
    text += fmt::format("    <tb id=\"{}\" send=\"{}\" recv=\"{}\" chan=\"{}\">\n", b, block.send_to,
                        block.recv_from, block.channel);
    for (std::size_t s = 0; s < steps[b].size(); ++s)
      text += print_step(static_cast<int>(s), steps[b][s], last_step,
                         waited_for.contains({static_cast<int>(b), static_cast<int>(s)}));
    text += "    </tb>\n";
  }
  return text + "  </gpu>\n";
}

}  // namespace

std::optional<Fault> msccl_limit(const Collective& collective, const BlockProgram& program,
                                 const MscclOptions& options) {
  if (std::optional<Fault> fault = not_expressible(collective, program)) return fault;
  if (std::optional<Fault> fault = beyond_channels(program)) return fault;
  return too_many_steps(program, options.most_steps);
}

std::string to_msccl_xml(const Verified<BlockProgram>& verified, const MscclOptions& options) {
  const Collective& collective = verified.collective();
  const BlockProgram& program = *verified;
  if (const std::optional<Fault> fault = msccl_limit(collective, program, options))
    throw InputError(program.name, *fault);
  // nchunksperloop is the longest input or output of any rank.
  int channels = 1, chunks = 1;
  for (const BlockRank& rank : program.ranks) {
    chunks = std::max({chunks, rank.input_chunks, rank.output_chunks});
    for (const Block& block : rank.blocks) channels = std::max(channels, block.channel + 1);
  }
  const std::string root = is_rooted(collective.kind) ? fmt::format(" root=\"{}\"", collective.root) : "";
  std::string text = fmt::format(
      "<algo name=\"{}\" proto=\"Simple\" nchannels=\"{}\" nchunksperloop=\"{}\" ngpus=\"{}\" coll=\"{}\"{} "
      "inplace=\"{}\" outofplace=\"1\" minBytes=\"{}\" maxBytes=\"{}\">\n",
      escaped(program.name), channels, chunks, program.ranks.size(), name_of(row_of(collective.kind).result),
      root, program.in_place ? 1 : 0, options.min_bytes, options.max_bytes);
  for (Rank n = 0; n < static_cast<int>(program.ranks.size()); ++n) text += print_rank(n, program.ranks[n]);
  return text + "</algo>\n";
}

// Queues of the executor are taken to hold two messages, so that a ring of blocks may receive and send at
// once. The limit of steps is tested by printing, since dependencies of an instruction become steps, too.
RelaxOptions blocks_for_msccl(const Collective& collective, const MscclOptions& options) {
  return {.queue_depth = 2,
          .most_instructions = options.most_steps,
          .sums_in_place = true,
          .for_both = true,
          .excess = [=](const BlockProgram& program) { return msccl_limit(collective, program, options); }};
}

// Reads files of other tools, so all input is checked: numbers have limits, names no control characters,
// blocks and steps are numbered as loaders require, and errors are reported with their path in the file. Only
// the form is checked here; the verifier checks the algorithm.
//
// The form does not state which piece of its block an instruction moves, and where a block is not divisible
// pieces differ in length: find_pieces() (codegen/passes/pieces.h) does.
//
// The only file that sees pugixml. It expands no entities of a document's own, and is given no document
// type.

namespace {

constexpr int kMostNumber = 1 << 24;

class Reader {
 public:
  Reader(std::string_view text, const std::string& file, const PromisedOf& promised)
      : file_(file), promised_(promised) {
    const pugi::xml_parse_result parsed =
        document_.load_buffer(text.data(), text.size(), pugi::parse_default & ~pugi::parse_doctype);
    if (!parsed) {
      const auto line =
          1 + std::count(text.begin(),
                         text.begin() + std::min<std::ptrdiff_t>(parsed.offset,
                                                                 static_cast<std::ptrdiff_t>(text.size())),
                         '\n');
      throw InputError(fmt::format("{}:{}", file, line), std::string("is not XML: ") + parsed.description(),
                       "check the file");
    }
  }

  // From the top down; what later parts need of earlier ones (ranks, the collective) is in the result by
  // then. Loaders take files without some attributes, and so does this, with the loaders' defaults.
  MscclFile read() {
    const pugi::xml_node algo = document_.child("algo");
    const bool machine = document_.child("system");
    if (!algo)
      throw InputError(file_, machine ? "is NCCL's description of a machine, not a program" : "has no <algo>",
                       "give an MSCCL algorithm file");
    MscclFile result;
    const int ranks = number(algo, "ngpus", 1, kMostRanks);
    result.in_place = algo.attribute("inplace").as_int(0) != 0;
    // Older files omit it if they are for in place only.
    result.out_of_place = algo.attribute("outofplace").as_int(result.in_place ? 0 : 1) != 0;
    result.collective = collective(algo, ranks);
    result.program = {.name = text(algo, "name"),
                      .collective = result.collective.kind,
                      .chunks_per_block = result.collective.chunks_per_block,
                      .in_place = result.in_place,
                      .queue_depth = 2,
                      .ranks = std::vector<BlockRank>(ranks)};
    std::vector<bool> seen(ranks, false);
    for (const pugi::xml_node gpu : algo.children("gpu")) {
      const int n = number(gpu, "id", 0, ranks - 1);
      if (seen[n])
        throw InputError(where(gpu), fmt::format("gpu {} is there twice", n), "number them from 0");
      seen[n] = true;
      read_rank(gpu, n, result);
    }
    for (int n = 0; n < ranks; ++n)
      if (!seen[n])
        throw InputError(file_, fmt::format("gpu {} is missing", n),
                         "the file has ngpus=" + std::to_string(ranks));
    // Before the pieces are found, which takes time and memory for each chunk that the file claims to move.
    if (const std::string words = excess(result.program); !words.empty())
      throw InputError(file_, words, "use a smaller program");
    find_pieces(result.program);
    return result;
  }

 private:
  // By its name with the chunks of the file; "custom" is what the user promises.
  Collective collective(const pugi::xml_node& algo, int ranks) const {
    const std::string name = text(algo, "coll");
    const std::optional<CollectiveKind> kind = kind_named(name);
    const int chunks = number(algo, "nchunksperloop", 1, kMostNumber);
    if (!kind || !is_offered(*kind)) {
      int longest = 0;
      for (const pugi::xml_node gpu : algo.children("gpu"))
        longest = std::max(
            {longest, number(gpu, "i_chunks", 0, kMostNumber), number(gpu, "o_chunks", 0, kMostNumber)});
      return promised_collective(promised_, file_, name, ranks, longest);
    }
    const int blocks = blocks_of(*kind, ranks);
    if (chunks % blocks != 0)
      throw InputError(file_,
                       fmt::format("nchunksperloop {} is not a multiple of the {} ranks", chunks, ranks),
                       "check the file");
    const bool rooted = is_rooted(*kind) && algo.attribute("root");
    return make_collective(*kind, ranks, chunks / blocks, rooted ? number(algo, "root", 0, ranks - 1) : 0);
  }

  // "ring.xml: algo/gpu[0]/tb[1]/step[3]": by the numbers that the file gives.
  std::string where(const pugi::xml_node& node) const {
    std::string path;
    for (pugi::xml_node at = node; at && at.type() == pugi::node_element; at = at.parent()) {
      const char* key = std::string_view(at.name()) == "step" ? "s" : "id";
      const std::string id =
          at.attribute(key) ? fmt::format("[{}]", std::string(at.attribute(key).value()).substr(0, 20)) : "";
      path = at.name() + id + (path.empty() ? "" : "/") + path;
    }
    return file_ + ": " + path;
  }

  std::string text(const pugi::xml_node& node, const char* key) const {
    const pugi::xml_attribute attribute = node.attribute(key);
    if (!attribute) throw InputError(where(node), fmt::format("has no {}", key), "loaders refuse it, too");
    const std::string value = std::string(attribute.value()).substr(0, 200);
    if (std::any_of(value.begin(), value.end(), [](unsigned char c) { return c < 32 || c == 127; }))
      throw InputError(where(node), fmt::format("{} has control characters", key), "remove them");
    return value;
  }

  // Whole text or nothing: "3x" is no number.
  int number(const pugi::xml_node& node, const char* key, int least, int most) const {
    const std::string value = text(node, key);
    const std::optional<int> result = number_in<int>(value);
    if (!result || *result < least || *result > most)
      throw InputError(where(node), fmt::format("{}=\"{}\" is out of range", key, value.substr(0, 40)),
                       fmt::format("use {} to {}", least, most));
    return *result;
  }

  Slot slot(const pugi::xml_node& step, const char* buffer_key, const char* offset_key) const {
    const std::string letter = text(step, buffer_key);
    const std::optional<Buffer> buffer = buffer_of(letter);
    if (!buffer)
      throw InputError(where(step),
                       fmt::format("{}=\"{}\" is not a buffer", buffer_key, letter.substr(0, 20)),
                       "use i, o or s");
    return {*buffer, number(step, offset_key, 0, kMostNumber)};
  }

  // A nop has no slots that mean anything, so they are not even read.
  DataOperation operation(const pugi::xml_node& step) const {
    const std::string type = text(step, "type");
    const OperationShape* const shape = shape_named(type);
    if (shape == nullptr)
      throw InputError(where(step), fmt::format("type=\"{}\" is not supported", type.substr(0, 20)),
                       "known are nop, s, r, rcs, rrc, rrs, rrcs, cpy and re");
    if (type == "nop") return {};
    const int count = number(step, "cnt", 1, kMostNumber);
    DataOperation op = shaped(*shape, shape->reads ? slot(step, "srcbuf", "srcoff") : Slot(),
                              shape->stores ? slot(step, "dstbuf", "dstoff") : Slot());
    op.count = count;
    return op;
  }

  // Blocks and steps are referred to by number, so gaps and other orders are refused, as loaders do.
  void read_rank(const pugi::xml_node& gpu, int n, MscclFile& file) {
    BlockRank& rank = file.program.ranks[n];
    // In place, a file names one of the two buffers only.
    rank.input_chunks = number(gpu, "i_chunks", 0, kMostNumber);
    rank.output_chunks = number(gpu, "o_chunks", 0, kMostNumber);
    if (file.in_place && rank.output_chunks == 0)
      rank.output_chunks = chorale::output_chunks(file.collective, n);
    if (file.in_place && rank.input_chunks == 0)
      rank.input_chunks = chorale::input_chunks(file.collective, n);
    rank.scratch_chunks = number(gpu, "s_chunks", 0, kMostNumber);
    std::set<BlockReference> flagless;
    int expected = 0;
    for (const pugi::xml_node tb : gpu.children("tb")) {
      if (number(tb, "id", 0, kMostNumber) != expected++)
        throw InputError(where(tb), "blocks are not numbered from 0 without gaps", "loaders refuse it, too");
      Block block{.send_to = number(tb, "send", -1, kMostNumber),
                  .recv_from = number(tb, "recv", -1, kMostNumber),
                  .channel = number(tb, "chan", 0, kMostNumber)};
      for (const pugi::xml_node step : tb.children("step")) {
        BlockInstruction i{.does = operation(step)};
        if (number(step, "s", 0, kMostNumber) != static_cast<int>(block.instructions.size()))
          throw InputError(where(step), "steps are not numbered from 0 without gaps",
                           "loaders refuse it, too");
        // -1: it waits for none. Numbers of blocks that are not there are the verifier's to find.
        const int depends = number(step, "depid", -1, kMostNumber);
        if (depends >= 0) i.after.push_back({depends, number(step, "deps", 0, kMostNumber)});
        if (!step.attribute("hasdep").as_bool(true))
          flagless.insert({expected - 1, static_cast<int>(block.instructions.size())});
        block.instructions.push_back(std::move(i));
      }
      rank.blocks.push_back(std::move(block));
    }
    go_on_at_flags(gpu, flagless, rank);
  }

  // A step that waits for one without a flag goes on at the next flag of that block.
  void go_on_at_flags(const pugi::xml_node& gpu, const std::set<BlockReference>& flagless,
                      BlockRank& rank) const {
    const auto flag_of = [&](const BlockReference& before) {
      BlockReference raised = before;
      while (flagless.contains(raised)) ++raised.instruction;
      if (raised != before && raised.instruction == std::ssize(rank.blocks[raised.block].instructions))
        throw InputError(
            where(gpu),
            fmt::format("a step waits for step {} of tb {}, which has hasdep=\"0\" and raises no flag",
                        before.instruction, before.block),
            "set its hasdep to 1: the wait would not end");
      return raised;
    };
    for (Block& block : rank.blocks)
      for (BlockInstruction& i : block.instructions)
        std::ranges::transform(i.after, i.after.begin(), flag_of);
  }

  std::string file_;
  const PromisedOf& promised_;
  pugi::xml_document document_ = {};
};

}  // namespace

MscclFile msccl_from_xml(std::string_view text, const std::string& file, const PromisedOf& promised) {
  return Reader(text, file, promised).read();
}

}  // namespace chorale
