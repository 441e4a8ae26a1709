// The algorithms of MPI libraries for a collective, by the names that their own settings have: those that
// `library measure --own all` may force, and whose times a library may hold.
#pragma once

#include <string_view>

#include "ir/collective_kind.h"

namespace chorale {

// Of "ompi" (Open MPI's component tuned, 4.1 to 6), "mpich" (MPICH's MPIR layer, 4.0) or "ucc" (UCC's
// tl/ucp).
bool is_own_algorithm(std::string_view library, CollectiveKind, std::string_view name);
// Is it for so many ranks?
bool suits(std::string_view library, CollectiveKind, std::string_view name, int ranks);

}  // namespace chorale
