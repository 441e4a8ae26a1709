// Versions of VeriPB's format of proofs, which differ in the first line and the last ones.
#pragma once

namespace chorale {

enum class PbFormat {
  V1_2,  // VeriPB of 2022, which reads 1.0 to 1.2
  V2_0,  // VeriPB 2 and 3, which refuse versions below 2.0
};

}  // namespace chorale
