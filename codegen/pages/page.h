// The pages that html.cpp and place_html.cpp fill: page.html and place_page.html in this folder, as strings
// (made by CMake). Each has the mark @DATA@ once, where the data goes.
#pragma once

#include <string>

namespace chorale {

std::string page_template();
std::string place_page_template();

// The template with JSON text (ASCII only) in the place of its mark, such that nothing in it ends the script
// element, and that what steers instead of being shown is shown as its escape (ir/shown.h).
std::string filled_page(std::string page, const std::string& json);

}  // namespace chorale
