// The only file of the room that includes pugixml. It expands no entities but the five of XML itself, so a
// bomb of them would be read as plain text; it is refused all the same, so that the text is never taken for
// what another parser reads.
#include "topology/import/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "ir/error.h"
#include "topology/import/words.h"

namespace chorale {
namespace {

constexpr int kDeepest = 100;
constexpr int kMostElements = 1'000'000;
constexpr std::size_t kLongestValue = 255;  // as NCCL has it

}  // namespace

struct XmlElement::Document {
  std::string file = {};
  std::vector<std::size_t> newlines = {};
  pugi::xml_document tree = {};

  // pugixml knows offsets only; lines are found by binary search when an error needs one.
  std::ptrdiff_t line(std::ptrdiff_t offset) const {
    const auto at =
        std::ranges::lower_bound(newlines, static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    return 1 + (at - newlines.begin());
  }
};

std::string XmlElement::line() const {
  return fmt::format("{}:{}", document_->file, document_->line(pugi::xml_node(node_).offset_debug()));
}

std::string XmlElement::where() const {
  return fmt::format("{}: <{}>", line(), name().substr(0, 40));
}

void XmlElement::fail(const std::string& problem, const std::string& remedy) const {
  throw InputError(where(), problem, remedy);
}

std::string XmlElement::name() const {
  return pugi::xml_node(node_).name();
}

// Elements alone: comments and text between them are no children.
std::vector<XmlElement> XmlElement::children() const {
  std::vector<XmlElement> result;
  for (const pugi::xml_node child : pugi::xml_node(node_).children())
    if (child.type() == pugi::node_element) result.push_back(XmlElement(document_, child.internal_object()));
  return result;
}

std::vector<XmlElement> XmlElement::children(std::string_view of_name) const {
  std::vector<XmlElement> result;
  for (const XmlElement& child : children())
    if (child.name() == of_name) result.push_back(child);
  return result;
}

std::string XmlElement::contents() const {
  std::string result;
  for (const pugi::xml_node child : pugi::xml_node(node_).children())
    if (child.type() == pugi::node_pcdata || child.type() == pugi::node_cdata) result += child.value();
  return result;
}

bool XmlElement::has(const char* attribute) const {
  return !pugi::xml_node(node_).attribute(attribute).empty();
}

// Values become names of parts and words of errors, so they are short, and without control characters.
std::string XmlElement::text(const char* attribute) const {
  const pugi::xml_attribute found = pugi::xml_node(node_).attribute(attribute);
  if (!found) fail(fmt::format("has no {}", attribute), "write the file again");
  const std::string value = found.value();
  if (value.size() > kLongestValue)
    fail(fmt::format("{} has {} characters", attribute, value.size()), "use at most 255");
  if (std::ranges::any_of(value, [](unsigned char c) { return c < 32 || c == 127; }))
    fail(fmt::format("{} has control characters", attribute), "remove them");
  return value;
}

std::string XmlElement::text_or(const char* attribute, const std::string& otherwise) const {
  return has(attribute) ? text(attribute) : otherwise;
}

// All of the value is the number: "8x" and " 8" are none.
int XmlElement::integer(const char* attribute, int least, int most) const {
  const std::string value = text(attribute);
  const std::optional<int> result = number_in<int>(value);
  if (!result || *result < least || *result > most)
    fail(fmt::format("{}=\"{}\" is out of range", attribute, value.substr(0, 40)),
         fmt::format("use {} to {}", least, most));
  return *result;
}

double XmlElement::number(const char* attribute, double least, double most) const {
  const std::string value = text(attribute);
  const std::optional<double> result = number_in<double>(value);
  if (!result || *result < least || *result > most)
    fail(fmt::format("{}=\"{}\" is out of range", attribute, value.substr(0, 40)),
         fmt::format("use {} to {}", least, most));
  return *result;
}

XmlElement parse_xml(std::string_view text, const std::string& file) {
  auto document = std::make_shared<XmlElement::Document>();
  document->file = file;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') document->newlines.push_back(i);
  const auto refuse = [&](std::ptrdiff_t offset, const std::string& problem, const std::string& remedy) {
    throw InputError(fmt::format("{}:{}", file, document->line(offset)), problem, remedy);
  };
  // Anywhere in the text, within a comment, too: refusing more than is needed is safe here.
  if (const std::size_t entity = text.find("<!ENTITY"); entity != std::string_view::npos)
    refuse(static_cast<std::ptrdiff_t>(entity), "declares entities", "write what they stand for instead");
  const pugi::xml_parse_result parsed = document->tree.load_buffer(
      text.data(), text.size(), pugi::parse_default & ~pugi::parse_doctype, pugi::encoding_utf8);
  if (!parsed)
    refuse(parsed.offset, std::string("is not XML: ") + parsed.description(), "write the file again");
  const pugi::xml_node root = document->tree.document_element();
  if (!root) refuse(0, "has no element", "write the file again");
  // A walk without recursion: depth and number are bounded before a reader descends recursively.
  int elements = 0, depth = 1;
  for (pugi::xml_node at = root; at;) {
    if (++elements > kMostElements)
      refuse(at.offset_debug(), "has over a million elements", "describe one node a file");
    if (depth > kDeepest) refuse(at.offset_debug(), "nests more than 100 deep", "check the file");
    if (at.first_child()) {
      at = at.first_child();
      ++depth;
      continue;
    }
    while (at != root && !at.next_sibling()) {
      at = at.parent();
      --depth;
    }
    at = at == root ? pugi::xml_node() : at.next_sibling();
  }
  return XmlElement(document, root.internal_object());
}

}  // namespace chorale
