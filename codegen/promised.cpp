#include "codegen/promised.h"

#include <algorithm>

#include "ir/collective_kind.h"
#include "ir/error.h"
#include "ir/words.h"

namespace chorale {

Collective promised_collective(const PromisedOf& promised, const std::string& file, const std::string& name,
                               int ranks, int longest, int pieces) {
  if (!promised)
    throw InputError(file,
                     "names the collective '" + name + "', which is none of " + joined(collective_names()),
                     "state what it promises: --collective FILE");
  const Collective whole = promised(ranks);
  int most = 1;
  for (Rank n = 0; n < ranks; ++n) most = std::max({most, input_chunks(whole, n), output_chunks(whole, n)});
  const int cut = longest % most == 0 ? std::max(longest / most, 1) : 1;
  if (is_custom(whole)) return refined(whole, cut * pieces);
  return of_kind(whole, whole.kind, whole.chunks_per_block * cut * pieces);
}

}  // namespace chorale
