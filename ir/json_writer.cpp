// Texts as ASCII, with broken UTF-8 replaced: the file can be read again, whatever a name contains.
#include "ir/json_writer.h"

#include <nlohmann/json.hpp>

namespace chorale {

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace chorale
