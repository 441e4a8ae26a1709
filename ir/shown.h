// Texts from outside (names in files, paths, arguments) as they may be shown: where they leave us, for a
// terminal, a table, a comment or a drawing, they pass through here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace chorale {

// Is this a character that terminals and pages obey instead of showing it: a control character (C0, DEL, C1),
// a line or paragraph separator, or one that changes the direction of writing, is invisible, or is a tag?
bool controls_terminal(std::uint32_t code);

// Returns the text as one line of valid UTF-8 without such characters: they become escapes as JSON and C have
// them (\n, \u001b, \u202e), and a byte that is not UTF-8 becomes \xff. Backslashes are left as they are, so
// that the function is idempotent.
std::string shown(std::string_view text);

// Returns lines of ours, with names from outside in them: newlines stay.
std::string shown_lines(std::string_view text);

}  // namespace chorale
