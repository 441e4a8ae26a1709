// The page that html.cpp fills: page.html in this folder, as a string (made by CMake).
#pragma once

#include <string>

namespace chorale {

// Has the mark @DATA@ once, where the data goes.
std::string page_template();

}  // namespace chorale
