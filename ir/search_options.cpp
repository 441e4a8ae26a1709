#include "ir/search_options.h"

namespace chorale {

std::span<const Named<Engine>> engines() {
  static constexpr Named<Engine> kEngines[] = {
      {Engine::Sat, "sat"}, {Engine::Smt, "smt"}, {Engine::SatPartition, "sat-partition"}};
  return kEngines;
}

std::string name_of(Engine engine) {
  return name_in(engines(), engine);
}

}  // namespace chorale
