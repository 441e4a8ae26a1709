// The pages that html.cpp, place_html.cpp, tune_html.cpp, library_html.cpp and compare_html.cpp fill:
// page.html, place_page.html, tune_page.html, library_page.html and compare_page.html in this folder, each in
// frame.html with its styles and scripts, as strings (made by CMake). Each has the marks @TITLE@ and then
// @DATA@ once, where these go.
#pragma once

#include <string>

namespace chorale {

std::string page_template();
std::string place_page_template();
std::string tune_page_template();
std::string library_page_template();
std::string compare_page_template();

// A text for people as markup (ir/shown.h): nothing in it is an element or an entity.
std::string as_markup(const std::string&);

// The template with the title and with JSON text (ASCII only) in place of its marks. Names come from files:
// nothing in the title is markup, nothing in the JSON ends the script element, and what steers instead of
// being shown is shown as its escape (ir/shown.h).
std::string filled_page(const std::string& page, const std::string& title, const std::string& json);

}  // namespace chorale
