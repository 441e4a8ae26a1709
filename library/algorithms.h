// The algorithms that a preloaded program may use: read once, chosen by collective, ranks, where these sit,
// and size.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ir/fnv.h"
#include "ir/frontier.h"
#include "ir/program.h"
#include "ir/step_rows.h"
#include "ir/verified.h"
#include "library/answers.h"
#include "library/rank_mapping.h"
#include "library/select.h"
#include "semantics/verified.h"

namespace chorale {

struct LoadedAlgorithm {
  int number = 0;         // the same in all ranks that loaded the same
  std::string name = {};  // file and point, safe to be shown
  Verified<Program> program;
  StepRows steps = {};
};

// A schedule as a program, or why it cannot be lowered. `serialize_ports`: messages are so long
// that those that share a port should be sent one after the other (cost/cost.h).
using Lowering = std::function<Verification<Program>(const Verified<Schedule>&, bool serialize_ports)>;

class Algorithms {
 public:
  // Files, or directories of them, separated by colons: results, which a directory is searched for, and
  // libraries (library/answers.h), whose measurements `over` MPI or NCCL count. Left out, and reported in
  // `complaints`, is a file that cannot be read, is too large to be read in a moment, or does not fit into
  // memory. Throws nothing. Results whose ranks may end with different bits are left out, too; if `order`,
  // the value of CHORALE_ORDER, is "fixed", also results whose sums are not added up along one tree, that of
  // the first result for the same number of ranks: then each size and each run gives the same bits. "agreed"
  // is as ""; with any other word nothing is loaded.
  explicit Algorithms(const std::string& path, std::string over = "mpi", const std::string& order = "");

  const std::vector<std::string>& complaints() const { return complaints_; }
  // Takes the algorithms of the other, not its complaints. Those at hand stay where they are.
  void add(Algorithms other);
  // Of the contents of all files that were loaded, and the order: the same, with overwhelming odds only, for
  // the same ones.
  std::uint64_t fingerprint() const { return fingerprint_; }
  int size() const { return size_; }

  // Is there one for this collective and number of ranks, with any root and any hosts? Otherwise `why`
  // reports that there is none. Ranks that loaded the same files give the same answer, whatever they did
  // before, and nothing is kept.
  bool has(const CollectiveCall&, std::string& why) const;

  // "": nothing has failed, or there are algorithms for some call after that failure. Else that there are
  // none, and the names of failures that there are algorithms for.
  std::string not_ready_for(const std::string& failure) const;

  // The one with the least predicted or measured time of those that can be lowered, or that was lowered; for
  // the ranks of the group as they are numbered. Null, with the reason in `why`: there is none, or the
  // library's own was measured to be faster. If the memory does not suffice to lower it, nothing has changed.
  //
  // `group`, if it is not empty, has the host of each rank: an algorithm whose hosts are known must match
  // them, and if one does, those whose hosts are not known are not used. The latter take ranks as they are
  // numbered. The root may be another if a symmetry of the machine carries the algorithm's root to it.
  //
  // `failure`: what has failed of the machine, as its name ends ("link 0-1"); then only answers for the
  // machine after that failure are used, for ranks as the machine numbers them; without it none of those.
  const LoadedAlgorithm* choose(const CollectiveCall&, const std::vector<RankLocation>& group,
                                const Lowering&, std::string& why, const std::string& failure = "");

 private:
  // A result, its points, and what it is known of it.
  struct Loaded {
    Result result = {};                        // without its claims
    std::vector<int> counts = {};              // of an allgatherv and its like (CollectiveCall)
    int number = 0;                            // of its first point
    std::string name = {};                     // safe to be shown
    std::vector<std::vector<int>> hosts = {};  // each how ranks may sit; none: not known
    bool of_whole = true;                      // of a machine of which nothing has failed
    // By failure: what each rank of the answer is called in the machine, and its host.
    struct Place {
      std::vector<Rank> ranks = {};
      std::vector<int> hosts = {};
    };
    std::map<std::string, Place> failures = {};
    std::vector<MeasuredTime> measured = {};         // over our library
    std::vector<std::string> why_not = {};           // by point, where it cannot be lowered
    std::vector<std::vector<Rank>> symmetries = {};  // carrying(its root), when it was first asked for
    // By point, whether ports are serialized, and what its ranks are called; empty where they are called as
    // they are.
    std::map<std::tuple<int, bool, std::vector<Rank>>, std::unique_ptr<LoadedAlgorithm>> lowered = {};
  };
  // An algorithm for a call, its ranks called otherwise.
  struct Candidate {
    Loaded* loaded = nullptr;
    std::vector<Rank> ranks = {};  // empty: as they are
  };

  std::string other_order(const Collective&);
  void read_all(const std::string& path);
  void read(const std::string& file);
  void read_file_or_library(const std::string& file);
  void read_library(const std::string& file);
  void keep(std::vector<std::unique_ptr<Loaded>>);
  std::vector<Candidate> candidates(const CollectiveCall&, const std::vector<RankLocation>& group,
                                    const std::string& failure, std::string& why);
  std::optional<std::vector<Rank>> mapping_of(const Loaded&, const std::vector<RankLocation>& group,
                                              const std::string& failure) const;
  std::optional<std::vector<Rank>> names(Loaded&, const CollectiveCall&, std::vector<Rank> mapping) const;

  std::string over_ = {};
  bool fixed_order_ = false;
  std::map<int, SumOrder> trees_ = {};  // by ranks, where orders are fixed
  std::vector<std::unique_ptr<Loaded>> loaded_ = {};
  // Programs make the same calls again.
  std::map<std::tuple<CollectiveCall, std::vector<RankLocation>, std::string>, const LoadedAlgorithm*>
      chosen_ = {};
  int size_ = 0;  // of all results
  std::vector<std::string> complaints_ = {};
  std::uint64_t fingerprint_ = kFnvBasis;
  std::uintmax_t bytes_ = 0;  // of all files that were loaded
};

}  // namespace chorale
