// Answers of searches in one SQLite file, one transaction each: an answer that was stored stays whatever
// happens afterwards, and one that was not stored whole is absent. Questions and answers are texts,
// compressed; their contents are defined in library/question.h and jobs/library.h.
//
// An answer is found by its question alone. Places record in which machine and where that question was asked:
// isomorphic nodes of a machine, or of several, share an answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chorale {

struct AnswerPlace {
  std::string machine = {};     // as it was named
  std::string group = {};       // "all", or levels: "node"
  std::string collective = {};  // its name
  int ranks = 0;                // of the group
  int root = 0;
  // By rank of the answer, numbers of the hosts of ranks there; empty: the machine does not define hosts.
  std::vector<int> hosts = {};
  std::string members =
      {};  // its ranks in the machine: "0 8 16 24"; of groups that are numbered alike those of the first
  std::string numbering = {};  // of the group, into the machine that the question is about (ir/renumbering.h)
  bool operator==(const AnswerPlace&) const = default;
};

// How long a point of an answer took, or the collective of the library that carried its messages.
struct MeasuredTime {
  static constexpr int kOwn = -1;

  std::string over = "mpi";
  int point = kOwn;        // of the answer's result; kOwn: that library's own collective
  std::int64_t bytes = 0;  // of a block
  double median_us = 0, least_us = 0, most_us = 0;
  int times = 0;  // of which they are
  bool operator==(const MeasuredTime&) const = default;
};

// How long an algorithm of an MPI library took that its settings forced, in place of the one that it chooses
// by itself. The library and the algorithm are named as in library/question.h.
struct OwnTime {
  std::string library = {};    // "ompi", "mpich"
  std::string algorithm = {};  // "recursive_doubling"
  MeasuredTime time = {};      // over "mpi", of kOwn
  bool operator==(const OwnTime&) const = default;
};

// What the fastest point of an answer should take, and what no schedule is faster than.
struct PredictedTime {
  std::int64_t bytes = 0;  // of a block
  int point = 0;           // of the answer's result
  double us = 0, least_us = 0;
  bool operator==(const PredictedTime&) const = default;
};

struct StoredAnswer {
  std::string question = {};
  std::string answer = {};
  std::string numbering = {};                 // of the answer's machine, as a place has one of its group
  std::vector<AnswerPlace> places = {};       // sorted
  std::vector<MeasuredTime> measured = {};    // by over, point, bytes
  std::vector<OwnTime> own = {};              // by library, algorithm, bytes
  std::vector<PredictedTime> predicted = {};  // by bytes
};

class AnswerFile {
 public:
  virtual ~AnswerFile() = default;

  virtual std::optional<StoredAnswer> answer(const std::string& question) = 0;
  // What is put is on disk when this returns; what is put in one call of together(), as a whole or not at
  // all.
  virtual void together(const std::function<void()>& puts) = 0;
  // The answer with its numbering. A question that has one keeps it. Places and times are put by themselves.
  virtual void put(const StoredAnswer&) = 0;
  // Of a question that has an answer; what is known already stays.
  virtual void put_place(const std::string& question, const AnswerPlace&) = 0;
  virtual void put_predicted(const std::string& question, const PredictedTime&) = 0;
  // Of a question that has an answer; in the place of an older one of the same point and size.
  virtual void put_measured(const std::string& question, const MeasuredTime&) = 0;
  // The same, in the place of an older one of the same library, algorithm and size.
  virtual void put_own(const std::string& question, const OwnTime&) = 0;
  // One after the other, in an order that depends on the questions alone.
  virtual void each(const std::function<void(const StoredAnswer&)>&) = 0;
};

// Several processes may have it open. Throws InputError if it does not exist and `make` is not set, and for a
// file of another kind; likewise its functions if the file cannot be read or written.
std::unique_ptr<AnswerFile> open_answers(const std::string& path, bool make);

}  // namespace chorale
