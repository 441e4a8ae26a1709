// The solvers and libraries that few questions need, from their parts. Each is loaded by the first question
// that needs it; a program that asks none starts without (parts/part.h).
#include "parts/part.h"
#include "solvers/parts/tables.h"

namespace chorale {
namespace {

const Z3Part& z3() {
  static const auto& part = loaded<Z3Part>(
      {.name = "Z3", .library = "libchorale-z3.so", .function = "chorale_z3_part", .remedy = kBuildAll});
  return part;
}

const CryptoPart& crypto() {
  static const auto& part = loaded<CryptoPart>({.name = "SHA-256",
                                                .library = "libchorale-crypto.so",
                                                .function = "chorale_crypto_part",
                                                .remedy = kBuildAll});
  return part;
}

}  // namespace

std::unique_ptr<SatSolver> make_z3_sat(int seed, std::FILE*) {
  return z3().make_sat(seed);
}

std::unique_ptr<SmtSession> make_z3(const SolveLimits& limits) {
  return z3().make_session(limits);
}

SmtAnswer solve_smtlib(const std::string& text, const std::vector<std::string>& wanted,
                       const SolveLimits& limits) {
  return z3().solve_text(text, wanted, limits);
}

std::string sha256_hex(std::string_view bytes) {
  return crypto().sha256_hex(bytes);
}

}  // namespace chorale
