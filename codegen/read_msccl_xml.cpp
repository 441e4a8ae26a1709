// Reads files of other tools, so all input is checked: numbers have limits, names no control characters,
// blocks and steps are numbered as loaders require, and errors are reported with their path in the file. Only
// the form is checked here; the verifier checks the algorithm.
//
// The form does not state which piece of its block an instruction moves, and where a block is not divisible
// pieces differ in length: find_pieces() (codegen/passes/pieces.h) does.
//
// The only file that sees pugixml. It expands no entities of a document's own, and is given no document
// type.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>

#include "codegen/msccl_xml.h"
#include "codegen/passes/pieces.h"
#include "ir/error.h"
#include "ir/sizes.h"
#include "ir/slot.h"

namespace chorale {
namespace {

constexpr int kMostNumber = 1 << 24;

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : file_(file) {
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
    const CollectiveKind kind = known_kind(text(algo, "coll"));
    result.in_place = algo.attribute("inplace").as_int(0) != 0;
    // Older files omit it if they are for in place only.
    result.out_of_place = algo.attribute("outofplace").as_int(result.in_place ? 0 : 1) != 0;
    const int chunks = number(algo, "nchunksperloop", 1, kMostNumber);
    const int blocks = blocks_of(kind, ranks);
    if (chunks % blocks != 0)
      throw InputError(file_,
                       fmt::format("nchunksperloop {} is not a multiple of the {} ranks", chunks, ranks),
                       "check the file");
    const bool rooted = is_rooted(kind) && algo.attribute("root");
    result.collective =
        make_collective(kind, ranks, chunks / blocks, rooted ? number(algo, "root", 0, ranks - 1) : 0);
    result.program = {.name = text(algo, "name"),
                      .collective = kind,
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
    int result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < least || result > most)
      throw InputError(where(node), fmt::format("{}=\"{}\" is out of range", key, value.substr(0, 40)),
                       fmt::format("use {} to {}", least, most));
    return result;
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
        block.instructions.push_back(std::move(i));
      }
      rank.blocks.push_back(std::move(block));
    }
  }

  std::string file_;
  pugi::xml_document document_ = {};
};

}  // namespace

MscclFile msccl_from_xml(std::string_view text, const std::string& file) {
  return Reader(text, file).read();
}

}  // namespace chorale
