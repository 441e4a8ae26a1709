// The idea: a plan is another form of a peer program, so its lowering is that of the kernels, with the
// executor's limits as options: few channels, so counters are shared; few operations, so the signals of a
// step, and its waits, are combined; one scratch, so ranks meet when a launch begins. The invariant: the text
// itself, read back, is verified.
#include "codegen/mscclpp/plan.h"

#include <fmt/format.h>

#include <stdexcept>

#include "codegen/mscclpp/file.h"
#include "codegen/mscclpp/read_plan.h"
#include "codegen/mscclpp/write_plan.h"
#include "ir/collective_kind.h"
#include "ir/fnv.h"
#include "semantics/verify_peers.h"

namespace chorale {
namespace {

constexpr int kMostBlocks = 64;  // of a rank, that surely run at the same time

std::optional<Rank> root_of(const Collective& collective) {
  return is_rooted(collective.kind) ? std::optional(collective.root) : std::nullopt;
}

// A mistake of ours, hence logic_error: a user can do nothing about it. The file has no place for the order
// of sums.
void require_right(const std::string& text, const std::string& name, const SumOrder& order,
                   int most_operations) {
  MscclppFile file = mscclpp_from_json(text, name, most_operations);
  file.collective.order = order;
  const std::vector<Fault> faults =
      violations(file.collective, file.program, {.packets = file.packets, .proxies = file.proxies}, 1);
  if (!faults.empty()) throw std::logic_error("to_mscclpp_plan: " + faults.front().words);
}

}  // namespace

PeerOptions peers_for_mscclpp(const MscclppOptions& options) {
  return {.double_scratch = false,
          .shared_counters = true,
          .by_steps = true,
          .switches = true,
          .has = [nodes = options.nodes](
                     Rank n, const DataOperation& op) { return mscclpp::shape_for(n, op, nodes) != nullptr; },
          .excess =
              [options](const PeerProgram& lane) {
                return mscclpp::excess(mscclpp::plan_of(lane, options.nodes).gpus, options.most_operations);
              },
          .most_blocks = kMostBlocks};
}

std::optional<Fault> without_mscclpp_name(const Collective& collective) {
  if (is_offered(row_of(collective.kind).result)) return std::nullopt;
  return Fault{.kind = Fault::Kind::Limit,
               .words = "MSCCL++ has no such collective: " + name_of(collective),
               .remedy = "use another target"};
}

// What the form cannot say is refused first, in the words of the user.
std::string to_mscclpp_plan(const Verified<PeerProgram>& program, const MscclppOptions& options) {
  if (has_epilogue(*program))
    throw InputError(program->name, "MSCCL++ has no operation that applies a function to a sum (an epilogue)",
                     "use another target");
  if (const auto fault = without_mscclpp_name(program.collective())) throw InputError(program->name, *fault);
  mscclpp::WrittenPlan plan = mscclpp::plan_of(*program, options.nodes);
  if (plan.fault) throw InputError(program->name, *plan.fault);
  mscclpp::Plan written{.name = program->name,
                        .collective = name_of(row_of(program.collective().kind).result),
                        .in_place = program->in_place,
                        .root = root_of(program.collective()),
                        .min_bytes = options.min_bytes,
                        .max_bytes = options.max_bytes,
                        .gpus = std::move(plan.gpus)};
  written.name += fmt::format(", plan {:08x}", fnv_of(mscclpp::to_json(written)) >> 32);
  const std::string text = mscclpp::to_json(written);
  require_right(text, program->name, program.collective().order, options.most_operations);
  return text;
}

}  // namespace chorale
