// Runs the steps of a plan over NCCL: the messages of a step as one group of sends and receives, then its
// sums and copies in as few launches as they fit into (one, almost always). Everything is enqueued on the
// stream and nothing waits, so it can be captured into a graph.
//
// Host code in C++17; it is also copied into emitted programs.
//
// The stream orders everything: the launch of a step reads what its group has received, and the next group
// sends what the launch has stored. Ranks wait for each other in groups alone, which come in the order of the
// steps everywhere and have both ends of each message, so none waits forever.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/local_work.h"
#include "runtime/device/nccl_group.h"
#include "runtime/device/step_plan.h"

namespace chorale {

inline std::int64_t size_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt32:
    case ncclUint32:
      return 4;
    case ncclFloat32:
      return sizeof(StepUnit);
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    default:
      return 1;
  }
}

// One call of the collective, by one rank.
struct NcclRun {
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
  const void* input = nullptr;
  void* output = nullptr;
  void* scratch = nullptr;  // plan.scratch elements
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;
  int rank = 0;
  const void* const* tensors = nullptr;  // of the function that is applied to sums, if there is one
};

class NcclSteps {
 public:
  // None may end before this does.
  NcclSteps(const StepPlan& plan, const NcclCalls& nccl, const NcclRun& run)
      : plan_(plan), nccl_(nccl), run_(run) {}

  // All steps, and the division of an average.
  ncclResult_t enqueue() {
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s)
      if (const ncclResult_t code = enqueue_step(s); code != ncclSuccess) return code;
    return enqueue_division();
  }

  ncclResult_t enqueue_step(int s) {
    step_ = s;
    if (const ncclResult_t code = exchange(plan_.steps[s]); code != ncclSuccess) return code;
    return add_up(plan_.steps[s].chains, 1);
  }

  // An average is divided once, at the end and in place: one sum of one source. Where a function is applied,
  // it was divided before that, where the sum was complete.
  ncclResult_t enqueue_division() {
    if (run_.op != ncclAvg || !plan_.adds || plan_.applies || plan_.output == 0) return ncclSuccess;
    const Span whole{1, 0, plan_.output};
    return add_up({{{whole, {whole}}}}, plan_.ranks);
  }

  // The same with a wait after each step: a step that does not end in time is a fault that names its peers.
  ncclResult_t run_checked(std::chrono::milliseconds timeout) {
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      if (const ncclResult_t code = enqueue_step(s); code != ncclSuccess) return code;
      if (const ncclResult_t code = wait(plan_.steps[s], timeout); code != ncclSuccess) return code;
    }
    if (const ncclResult_t code = enqueue_division(); code != ncclSuccess) return code;
    return wait({}, timeout);
  }

  // What failed: rank, step, peer, and why.
  const std::string& fault() const { return fault_; }

 private:
  char* address(const Span& span) const {
    char* const base = span.buffer == 0   ? static_cast<char*>(const_cast<void*>(run_.input))
                       : span.buffer == 1 ? static_cast<char*>(run_.output)
                                          : static_cast<char*>(run_.scratch);
    return base + span.begin * size_of(run_.type);
  }

  ncclResult_t failed(ncclResult_t code, const std::string& what, const char* why) {
    if (code == ncclSuccess) return code;
    fault_ = "rank " + std::to_string(run_.rank) + ", step " + std::to_string(step_ + 1) + ": " + what +
             ": " + why;
    return code;
  }
  ncclResult_t failed(ncclResult_t code, const std::string& what) {
    return failed(code, what, nccl_.error_string(code));
  }
  ncclResult_t failed(cudaError_t code, const std::string& what) {
    return failed(code == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError, what, cudaGetErrorString(code));
  }

  static std::string peers(const std::vector<PeerSpan>& spans) {
    std::string text;
    for (const PeerSpan& each : spans) text += (text.empty() ? "" : ", ") + std::to_string(each.peer);
    return text.empty() ? "nobody" : (spans.size() > 1 ? "ranks " : "rank ") + text;
  }

  // Polls both: NCCL reports that a peer is gone, the stream reports completion; a peer that is merely late
  // causes no report.
  ncclResult_t wait(const PlannedStep& step, std::chrono::milliseconds timeout) {
    const auto start = std::chrono::steady_clock::now();
    const auto what = [&] { return "messages from " + peers(step.recvs) + ", to " + peers(step.sends); };
    while (true) {
      ncclResult_t state = ncclSuccess;
      const ncclResult_t asked = nccl_.async_error(run_.comm, &state);
      if (asked != ncclSuccess || (state != ncclSuccess && state != ncclInProgress))
        return failed(asked != ncclSuccess ? asked : state, what());
      const cudaError_t done = cudaStreamQuery(run_.stream);
      if (done == cudaSuccess) return ncclSuccess;
      if (done != cudaErrorNotReady) return failed(done, what());
      if (std::chrono::steady_clock::now() - start > timeout)
        return failed(ncclSystemError, what(),
                      ("not done within " + std::to_string(timeout.count()) + " ms").c_str());
      std::this_thread::yield();
    }
  }

  ncclResult_t exchange(const PlannedStep& step) {
    if (step.sends.empty() && step.recvs.empty()) return ncclSuccess;
    const std::int64_t size = size_of(run_.type);
    NcclGroup group(nccl_, run_.comm, run_.stream);
    for (const PeerSpan& recv : step.recvs)
      group.receive(address(recv.span), recv.span.count * size, recv.peer);
    for (const PeerSpan& send : step.sends) group.send(address(send.span), send.span.count * size, send.peer);
    const ncclResult_t code = group.end();
    return failed(code, group.failed());
  }

  // Fills launches one after the other; a later one sees what an earlier one wrote, so sums and chains may be
  // cut anywhere. Of a sum that is cut, in place, the input that lies under dst comes first: it has to be
  // read before a part of the sum is stored there. The function is applied by the last part only.
  ncclResult_t add_up(const std::vector<Chain>& chains, int divisor) {
    LocalWork work = no_work();
    for (const Chain& chain : chains) {
      bool open = false;  // has this launch the chain?
      for (const OwnSum& planned : chain) {
        // What is rounded once is not cut; those who plan see to it that it fits.
        if (plan_.once && work.sources + planned.from.size() > LocalWork::kMostSources) {
          if (const ncclResult_t code = launch(work, divisor); code != ncclSuccess) return code;
          work = no_work();
          open = false;
        }
        const bool cut = work.sources + planned.from.size() > LocalWork::kMostSources;
        OwnSum turned;
        const OwnSum& sum = cut ? (turned = own_first(planned)) : planned;
        std::size_t next = 0;
        while (next < sum.from.size()) {
          if (work.chains + !open > LocalWork::kMostChains || work.sums == LocalWork::kMostSums ||
              work.sources + 2 > LocalWork::kMostSources) {
            if (const ncclResult_t code = launch(work, divisor); code != ncclSuccess) return code;
            work = no_work();
            open = false;
          }
          if (!open) {
            work.elements[work.chains] = sum.to.count;
            work.aligned[work.chains++] = 1;
            open = true;
          }
          // What was summed up so far is the first source of the rest.
          if (next > 0) add_source(work, sum.to);
          while (next < sum.from.size() && work.sources < LocalWork::kMostSources)
            add_source(work, sum.from[next++]);
          work.index[work.sums] = next == sum.from.size() ? sum.index : -1;
          work.dst[work.sums] = address(sum.to);
          align(work, work.dst[work.sums]);
          work.sources_end[work.sums++] = static_cast<std::uint16_t>(work.sources);
          work.sums_end[work.chains - 1] = static_cast<std::uint16_t>(work.sums);
        }
      }
    }
    return launch(work, divisor);
  }

  // The same sum with what lies under its result as the first source, before a part of it is written there.
  OwnSum own_first(OwnSum sum) const {
    std::stable_partition(sum.from.begin(), sum.from.end(),
                          [&](const Span& source) { return address(source) == address(sum.to); });
    return sum;
  }

  LocalWork no_work() const {
    LocalWork work;
    if (run_.op == ncclAvg) work.average_of = plan_.ranks;
    work.slice = plan_.slice;
    work.once = plan_.once;
    for (int k = 0; k < StepFunction::kOperands && run_.tensors != nullptr; ++k)
      work.tensors[k] = run_.tensors[k];
    return work;
  }

  void add_source(LocalWork& work, const Span& source) const {
    work.source[work.sources++] = address(source);
    align(work, work.source[work.sources - 1]);
  }

  static void align(LocalWork& work, const void* address) {
    if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) work.aligned[work.chains - 1] = 0;
  }

  ncclResult_t launch(const LocalWork& work, int divisor) {
    return failed(launch_local_work(run_.type, run_.op, work, divisor, run_.stream), "sums and copies");
  }

  const StepPlan& plan_;
  const NcclCalls& nccl_;
  const NcclRun& run_;
  int step_ = 0;
  std::string fault_ = {};
};

}  // namespace chorale
