// Proofs for checkers of others, in a folder: each formula beside its proof, and an index that names the
// claims (docs/formats.md). The index is written again after each proof, so it never names what is not there.
#pragma once

#include <string>
#include <vector>

#include "ir/files.h"
#include "ir/formula.h"
#include "solvers/proof.h"

namespace chorale {

class ProofFolder {
 public:
  // Path "": nothing is asked for. Throws InputError where it cannot be written to.
  ProofFolder(std::string path, std::string index);

  bool is_asked() const { return !path_.empty(); }
  // Files with names in the folder, and their row in the index, an object of JSON.
  void keep(std::vector<NamedText> files, std::string row);
  // A claim of which nothing, or not all, is here, if proofs are asked for.
  void leave_out(int claim, const std::string& why);

 private:
  void write_index() const;

  const std::string path_, index_;
  std::vector<std::string> rows_ = {}, left_out_ = {};
};

// A refutation with its LRAT text. `plain`: of the plain formula, otherwise of the search's.
void keep_lrat(ProofFolder&, int claim, bool plain, const Formula&, const Refutation&);

}  // namespace chorale
