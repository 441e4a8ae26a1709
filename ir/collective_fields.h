// The fields of collectives (ir/fields.h), for ir/json_collective.cpp, the schemas of docs, and Python. A
// named one has its chunks by its kind: files list those of custom ones only.
#pragma once

#include "ir/collective.h"
#include "ir/fields.h"

namespace chorale {

inline constexpr int kMostChunkSpecs = 1'000'000;

template <>
struct Fields<ChunkSpec> {
  using C = ChunkSpec;
  static constexpr std::tuple all = {field<&C::pre>(), field<&C::post>(),
                                     field<&C::input>({.most = kMostChunkSpecs, .may_lack = true}),
                                     field<&C::output>({.most = kMostChunkSpecs, .may_lack = true})};
};

inline std::string collective_name(const Collective& collective) {
  return name_of(collective);
}
inline void take_name(Collective& collective, const std::string& name) {
  collective.custom_name = name;
}

// Its number of ranks is that of the machine, or of the program, in whose file it is.
template <>
struct Fields<Collective> {
  using C = Collective;
  static constexpr std::tuple all = {
      View<C, collective_name, take_name>{{.name = "name", .key = "collective"}},
      field<&C::chunks_per_block>({.least = 1, .most = kMostChunkSpecs, .may_lack = true}),
      field<&C::root>({.may_lack = true}),
      field<&C::order>({.longest = 1 << 20, .unless_default = true}),
      field<&C::combining>({.may_lack = true}),
      field<&C::chunks>({.longest = kMostChunkSpecs})};
};

}  // namespace chorale
