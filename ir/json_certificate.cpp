// Certificates, written and read: each has the members of its kind alone, and the reader refuses those of
// another, since nothing would check them. Numbers are bounded before anything is kept for them; whether a
// certificate proves its claim is bounds/check.cpp's to say, not the reader's.
#include <fmt/format.h>

#include "ir/json_fields.h"
#include "ir/json_nouns.h"
#include "ir/json_reader.h"
#include "ir/json_writer.h"

namespace chorale {
namespace {

using Kind = Certificate::Kind;

constexpr int kMostInCertificate = 1'000'000'000;
constexpr std::size_t kMostCuts = 10'000, kMostPrices = 1'000'000;

std::vector<int> read_numbers(const JsonReader& json, std::size_t most, int largest, int least = 0) {
  std::vector<int> numbers;
  const std::size_t size = json.size(most);
  for (std::size_t i = 0; i < size; ++i) numbers.push_back(json.at(i).integer(least, largest));
  return numbers;
}

// The forms of values that depend on the machine: a rank, a link, a group by rank.
struct CertificateFields : PlainFields {
  const Topology& topology;
  using PlainFields::read, PlainFields::write;

  template <typename Value>
  std::string write(const std::vector<Value>& values, const FieldWords& words) const {
    std::vector<std::string> texts;
    for (const Value& each : values) texts.push_back(write(each, words));
    return fmt::format("[{}]", fmt::join(texts, ","));
  }
  std::string write(const std::vector<int>& numbers, const FieldWords&) const { return list(numbers); }
  std::string write(const TimedCut& cut, const FieldWords&) const {
    return fmt::format(R"({{"price":{},"until":{}}})", cut.price, list(cut.until));
  }
  std::string write(const Prices& prices, const FieldWords&) const {
    return fmt::format(R"({{"links":{},"limits":{}}})", list(prices.links), list(prices.limits));
  }

  void read(const JsonReader& json, const FieldWords& words, int& number) const {
    number = json.integer(0, words.name == "rank" ? topology.ranks - 1 : kMostInCertificate);
  }
  void read(const JsonReader& json, const FieldWords&, std::vector<int>& group) const {
    group = read_numbers(json, topology.ranks, topology.ranks);
  }
  // "until" by rank; -1: the rank is never inside.
  void read(const JsonReader& json, const FieldWords&, std::vector<TimedCut>& cuts) const {
    cuts.resize(json.size(kMostCuts));
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      json.at(i).require_object({"price", "until"});
      cuts[i] = {.price = json.at(i)["price"].integer(0, kMostInCertificate),
                 .until = read_numbers(json.at(i)["until"], topology.ranks, kMostInCertificate, -1)};
    }
  }
  // A price for each link and limit of the machine that claims are about: the one below chosen routes, if
  // there is one. Whether lists are complete is checked with the proof.
  void read(const JsonReader& json, const FieldWords&, std::vector<Prices>& prices) const {
    const std::size_t links = topology.underlay ? topology.underlay->links.size() : topology.links.size();
    const std::size_t limits = topology.underlay ? topology.underlay->limits.size() : topology.limits.size();
    for (std::size_t i = 0; i < json.size(kMostPrices); ++i) {
      json.at(i).require_object({"links", "limits"});
      prices.push_back({.links = read_numbers(json.at(i)["links"], links, kMostInCertificate),
                        .limits = read_numbers(json.at(i)["limits"], limits, kMostInCertificate)});
    }
  }
};

}  // namespace

// {"kind":"distance","chunk":0,"rank":5}. The kind comes first: it decides which members follow.
std::string write_certificate(const Certificate& certificate, const Topology& topology) {
  const CertificateFields codec{{}, topology};
  std::string text = fmt::format(R"({{"kind":"{}")", name_in(certificate_kinds(), certificate.kind));
  fields<Certificate>([&](const auto& field) {
    if (!field.is_of(certificate.kind)) return;
    text += fmt::format(",\"{}\":{}", field.words.name, codec.write(field.of(certificate), field.words));
  });
  return text + "}";
}

// The kind first, then the members that this kind has.
Certificate read_certificate(const JsonReader& json, const Topology& topology) {
  const std::string name = json["kind"].text();
  const std::optional<Kind> kind = value_in(certificate_kinds(), name);
  if (!kind) json["kind"].fail("unknown kind '" + name + "'");
  // A member of another kind would never be read.
  std::vector<std::string_view> names = {"kind"};
  fields<Certificate>([&](const auto& field) {
    if (field.is_of(*kind)) names.push_back(field.words.name);
  });
  json.require_object(names);
  Certificate certificate{.kind = *kind};
  const CertificateFields codec{{}, topology};
  fields<Certificate>([&](const auto& field) {
    const char* const member = field.words.name.data();
    if (field.is_of(*kind)) codec.read(json[member], field.words, field.of(certificate));
  });
  return certificate;
}

}  // namespace chorale
