// The solvers and libraries that few questions need, from their plugins. Each is loaded by the first question
// that needs it; a program that asks none starts without (ir/plugin.h).
#include "ir/plugin.h"
#include "solvers/plugins/tables.h"

namespace chorale {
namespace {

const Z3Plugin& z3() {
  static const auto& plugin = loaded<Z3Plugin>(
      {.name = "Z3", .library = "libchorale-z3.so", .function = "chorale_z3_plugin", .remedy = kBuildAll});
  return plugin;
}

const CryptoPlugin& crypto() {
  static const auto& plugin = loaded<CryptoPlugin>({.name = "SHA-256",
                                                    .library = "libchorale-crypto.so",
                                                    .function = "chorale_crypto_plugin",
                                                    .remedy = kBuildAll});
  return plugin;
}

}  // namespace

std::unique_ptr<SatSolver> make_z3_sat(int seed, std::FILE*, const std::string&) {
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
