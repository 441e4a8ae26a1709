// How the chunks of an execution plan of MSCCL++ are cut into chunks of a PeerProgram: so that parts of
// groups and units of pipelines are chunks of their own.
#pragma once

#include <string>
#include <vector>

#include "codegen/mscclpp/file.h"

namespace chorale::mscclpp {

// The part of a buffer that an operation accesses, in chunks of the program.
struct PieceRange {
  int first = 0;
  int count = 1;
};

class PlanPieces {
 public:
  PlanPieces() = default;
  // `reuse`: units of pipelines reuse scratch in round-robin order. Throws InputError where that has no
  // meaning, or pieces would be too many.
  PlanPieces(const std::vector<Gpu>&, bool reuse, const std::string& file);

  int of_chunk() const { return pieces_; }
  int of_scratch_chunk() const { return scratch_pieces_; }

  // Of a pipeline, the number of units that are unrolled; their real number depends on the size of the data.
  int units(const Operation& pipeline) const;

  // `pipeline` is the one that the operation is in, or null.
  PieceRange range(const Operation&, const PlanPlace&, const Operation* pipeline, int unit) const;

 private:
  int pieces_ = 1, scratch_pieces_ = 1;
  long long grain_ = 0;  // bytes of a piece, in pipelines
};

}  // namespace chorale::mscclpp
