// The fields of collectives (ir/fields.h), for ir/json_collective.cpp, the schemas of docs, and Python. A named
// one has its chunks by its kind: files list those of custom ones only.
#pragma once

#include "ir/collective.h"
#include "ir/fields.h"

namespace chorale {

inline constexpr int kMostChunkSpecs = 1'000'000;

template <>
struct Fields<ChunkSpec> {
  using C = ChunkSpec;
  static constexpr std::tuple all = {
      Field<C, &C::pre>{{.name = "pre"}}, Field<C, &C::post>{{.name = "post"}},
      Field<C, &C::input>{{.name = "input", .most = kMostChunkSpecs, .may_lack = true}},
      Field<C, &C::output>{{.name = "output", .most = kMostChunkSpecs, .may_lack = true}}};
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
      Field<C, &C::chunks_per_block>{
          {.name = "chunks_per_block", .least = 1, .most = kMostChunkSpecs, .may_lack = true}},
      Field<C, &C::root>{{.name = "root", .may_lack = true}},
      Field<C, &C::order>{{.name = "order", .longest = 1 << 20, .may_lack = true, .unless_default = true}},
      Field<C, &C::combining>{{.name = "combining", .may_lack = true}},
      Field<C, &C::chunks>{{.name = "chunks", .longest = kMostChunkSpecs}}};
};

}  // namespace chorale
