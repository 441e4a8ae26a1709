// libchorale-crypto: SHA-256 by OpenSSL.
#include <openssl/evp.h>

#include <array>
#include <stdexcept>

#include "ir/plugin.h"
#include "solvers/plugins/tables.h"

namespace chorale {
namespace {

// By the EVP interface: the low-level functions are deprecated in OpenSSL 3. In lower case, as sha256sum
// prints it.
std::string sha256_by_openssl(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest = {};
  unsigned int length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not available in OpenSSL");
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

}  // namespace
}  // namespace chorale

CHORALE_PLUGIN chorale_crypto_plugin() {
  static const chorale::CryptoPlugin plugin = {.sha256_hex = chorale::sha256_by_openssl};
  return &plugin;
}
