// Files first, and then the whole index again, which is small: a folder of a search that was stopped is
// complete for what its index names.
#include "pareto/proof_folder.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "ir/json_reader.h"

namespace chorale {

ProofFolder::ProofFolder(std::string path, std::string index)
    : path_(std::move(path)), index_(std::move(index)) {
  if (is_asked()) write_index();
}

void ProofFolder::keep(std::vector<NamedText> files, std::string row) {
  for (NamedText& file : files) file.path = (std::filesystem::path(path_) / file.path).string();
  write_files(files);
  rows_.push_back(std::move(row));
  write_index();
}

void ProofFolder::leave_out(int claim, const std::string& why) {
  if (!is_asked()) return;
  left_out_.push_back(fmt::format(R"({{"claim":{},"why":{}}})", claim, quoted(why)));
  write_index();
}

void ProofFolder::write_index() const {
  write_file((std::filesystem::path(path_) / index_).string(),
             fmt::format("{{\"chorale_proofs\":1,\n \"proofs\":{},\n \"left_out\":{}}}\n", lines(rows_, " "),
                         lines(left_out_, " ")));
}

// Files are named by the hash of their formula.
void keep_lrat(ProofFolder& folder, int claim, bool plain, const Formula& formula,
               const Refutation& refutation) {
  const std::string& name = refutation.formula_sha256;
  folder.keep(
      {{.path = name + ".cnf", .text = to_dimacs(formula)},
       {.path = name + ".lrat", .text = refutation.lrat}},
      fmt::format(
          R"({{"claim":{},"formula":"{}","cnf":"{}.cnf","lrat":"{}.lrat","lrat_bytes":{},"drat_bytes":{}}})",
          claim, plain ? "plain" : "search", name, name, refutation.lrat.size(), refutation.proof.size()));
}

}  // namespace chorale
