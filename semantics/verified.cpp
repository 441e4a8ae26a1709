// Every entry point asks for one fault only: a value is accepted or it is not, and the first fault is the
// reason. What a value was verified for is shared from a schedule down to the programs lowered from it, so
// that a program cannot be run for another collective than its schedule was made for.
#include "semantics/verified.h"

#include <memory>
#include <utility>
#include <vector>

#include "semantics/verify.h"
#include "semantics/verify_program.h"

namespace chorale {

// The one maker of Verified values: nothing is accepted but with the faults that a verifier found, which are
// none.
class Verifier {
 public:
  template <typename T>
  static Verification<T> verification(std::shared_ptr<const VerifiedFor> what_for, T value,
                                      const std::vector<Fault>& faults) {
    if (!faults.empty()) return {.fault = faults.front()};
    return {.accepted = Verified<T>(std::move(what_for), std::move(value))};
  }
  template <typename T>
  static std::shared_ptr<const VerifiedFor> same(const Verified<T>& other) {
    return other.for_;
  }
};

namespace {

std::shared_ptr<const VerifiedFor> verified_for(const Topology& topology, const Collective& collective) {
  return std::make_shared<const VerifiedFor>(VerifiedFor{topology, collective});
}

}  // namespace

Verification<Schedule> verify(const Topology& topology, const Collective& collective, Schedule schedule) {
  const std::vector<Fault> faults = violations(topology, collective, schedule, 1);
  return Verifier::verification(verified_for(topology, collective), std::move(schedule), faults);
}

// Accepted for the collective that the schedule performs, which has as many chunks as the point states, and
// not for `asked`: violations() has compared the two.
Verification<Schedule> verify(const Topology& topology, const Collective& asked, const Point& point) {
  return Verifier::verification(verified_for(topology, point.collective), point.schedule,
                                violations(topology, asked, point, 1));
}

Verified<Schedule> accepted(const Topology& topology, const Collective& collective, Schedule schedule) {
  Verification<Schedule> verification = verify(topology, collective, std::move(schedule));
  if (verification.fault)
    throw InputError("schedule of " + name_of(collective), verification.fault->words,
                     "run only what `chorale check` accepts");
  return std::move(*verification.accepted);
}

Verification<Program> verify(const Verified<Schedule>& schedule, Program program) {
  const std::vector<Fault> faults = violations(schedule.topology(), schedule.collective(), program, 1);
  return Verifier::verification(Verifier::same(schedule), std::move(program), faults);
}

// Depth and memory are the program's own statements; an executor provides what they state.
Verification<BlockProgram> verify(const Verified<Program>& steps, BlockProgram program) {
  const std::vector<Fault> faults = violations(
      steps.collective(), program, {.depth = program.queue_depth, .in_place = program.in_place}, 1);
  return Verifier::verification(Verifier::same(steps), std::move(program), faults);
}

Verification<PeerProgram> verify(const Verified<Program>& steps, PeerProgram program) {
  const std::vector<Fault> faults = violations(steps.collective(), program, {}, 1);
  return Verifier::verification(Verifier::same(steps), std::move(program), faults);
}

// Without links: what such a program was verified for has ranks alone.
Verification<BlockProgram> verify(const Collective& collective, BlockProgram program,
                                  const BlockVerifierOptions& options) {
  const std::vector<Fault> faults = violations(collective, program, options, 1);
  return Verifier::verification(verified_for({.ranks = collective.ranks}, collective), std::move(program),
                                faults);
}

Verification<PeerProgram> verify(const Collective& collective, PeerProgram program,
                                 const PeerVerifierOptions& options) {
  const std::vector<Fault> faults = violations(collective, program, options, 1);
  return Verifier::verification(verified_for({.ranks = collective.ranks}, collective), std::move(program),
                                faults);
}

}  // namespace chorale
