// A strict cursor over the elements of an XML text, for readers of foreign files: it knows its file and line,
// and validates the values that it returns. Entities of a document's own are refused, not expanded; a
// document type is skipped.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace pugi {
struct xml_node_struct;
}

namespace chorale {

class XmlElement {
 public:
  std::string line() const;   // "dgx.xml:17"
  std::string where() const;  // "dgx.xml:17: <gpu>"
  [[noreturn]] void fail(const std::string& problem, const std::string& remedy) const;

  std::string name() const;
  std::vector<XmlElement> children() const;  // elements only
  std::vector<XmlElement> children(std::string_view of_name) const;
  std::string contents() const;  // the text in it, without that of its children

  bool has(const char* attribute) const;
  std::string text(
      const char* attribute) const;  // fails if missing, beyond 255 bytes, or with control characters
  std::string text_or(const char* attribute, const std::string& otherwise) const;
  int integer(const char* attribute, int least, int most) const;
  double number(const char* attribute, double least, double most) const;

 private:
  friend XmlElement parse_xml(std::string_view text, const std::string& file);
  struct Document;
  XmlElement(std::shared_ptr<const Document> document, pugi::xml_node_struct* node)
      : document_(std::move(document)), node_(node) {}

  std::shared_ptr<const Document> document_;
  pugi::xml_node_struct* node_;
};

// The root element. Throws InputError, with the line, if this is not XML, declares entities, nests more than
// 100 deep or has more than a million elements.
XmlElement parse_xml(std::string_view text, const std::string& file);

}  // namespace chorale
