// Texts from outside (names in files, paths, arguments) as they may be shown: where they leave us, for a terminal,
// a table, a comment or a drawing, they pass through here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chorale {

// Is this a character that terminals and pages obey instead of showing it: a control character (C0, DEL, C1), a
// line or paragraph separator, one that turns the direction of writing, is invisible, or tags?
bool steers(std::uint32_t code);

// The text as one line of valid UTF-8 that steers nothing: such characters become escapes as JSON and C have them
// (\n, \u001b, \u202e), a byte that is no UTF-8 becomes \xff. Backslashes are left alone, so that what was shown
// once can be shown again.
std::string shown(std::string_view text);

// Lines of ours, with names from outside in them: newlines stay.
std::string shown_lines(std::string_view text);

}  // namespace chorale
