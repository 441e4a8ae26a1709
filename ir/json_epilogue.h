// The text form of epilogues as members of other objects: for the files of this room that read and write
// JSON.
#pragma once

#include <string>
#include <vector>

#include "ir/epilogue.h"
#include "ir/json_reader.h"

namespace chorale {

// "epilogue" and "operands".
std::vector<std::string> write_epilogue_members(const Epilogue&, const std::string& indent);
Epilogue read_epilogue_members(const JsonReader&, const std::string& file);

}  // namespace chorale
