// Transformations as text. A script is read to its end before the first one is applied. A call has groups of
// names between semicolons: reorder(avg; m_, v_; s_). The table below lists the arguments of each call.
#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <optional>
#include <span>

#include "ir/error.h"
#include "tensor/transformations/transform.h"

namespace chorale {
namespace {

struct ScriptPlace {
  int line = 1, column = 1;
};

// reorder(avg; m_, v_; s_) has the groups {avg}, {m_, v_}, {s_}; a layout is apart from them.
struct ScriptCall {
  ScriptPlace at = {};
  std::string name = {};
  std::vector<std::vector<std::string>> groups = {};
  std::optional<TensorLayout> layout = {};
};

// Of words in each group of a call; the last group or the layout may be left out.
struct CallForm {
  const char* name;
  const char* usage;
  std::vector<int> words;  // by group; 0: any number, but at least one
  int needed;              // groups
  bool layout;
  OrError<Workload> (*apply)(const Workload&, const ScriptCall&);
};

const std::string& word(const ScriptCall& call, int i = 0) {
  return call.groups[0][i];
}

// The layout decides the policy: Sliced gives ReduceScatter and AllGather, Rooted gives Reduce and
// Broadcast.
OrError<Workload> apply_split(const Workload& workload, const ScriptCall& call) {
  const TensorLayout layout = call.layout.value_or(TensorLayout{.kind = LayoutKind::Sliced});
  const bool scatters = layout.kind == LayoutKind::Sliced;
  return split(workload, word(call),
               scatters ? SplitPolicy::ReduceScatterAllGather : SplitPolicy::ReduceBroadcast, word(call, 1),
               layout);
}

// reorder has groups of one name, any number of them and one, of which two groups are needed.
std::span<const CallForm> call_forms() {
  static const std::vector<CallForm> kForms = {
      {"split",
       "split(NAME, NEW), with Sliced(flat), Sliced(DIM) or Rooted(RANK) as third",
       {2},
       1,
       true,
       apply_split},
      {"join",
       "join(NAME)",
       {1},
       1,
       false,
       [](const Workload& w, const ScriptCall& c) { return join(w, word(c)); }},
      {"shard",
       "shard(NAME, NEW, NEW) or shard(NAME, NEW, NEW, Sliced(DIMENSION))",
       {3},
       1,
       true,
       [](const Workload& w, const ScriptCall& c) {
         return shard(w, word(c), word(c, 1), word(c, 2),
                      c.layout.value_or(TensorLayout{.kind = LayoutKind::Sliced}));
       }},
      {"levels",
       "levels(NAME, NEW, NEW) or levels(NAME, NEW, NEW, Sliced(DIMENSION))",
       {3},
       1,
       true,
       [](const Workload& w, const ScriptCall& c) {
         return levels(w, word(c), word(c, 1), word(c, 2),
                       c.layout.value_or(TensorLayout{.kind = LayoutKind::Sliced}));
       }},
      {"reorder",
       "reorder(NAME; NAMES) or reorder(NAME; NAMES; PREFIX)",
       {1, 0, 1},
       2,
       false,
       [](const Workload& w, const ScriptCall& c) {
         return reorder(w, word(c), c.groups[1], c.groups.size() > 2 ? c.groups[2][0] : "s_");
       }},
      {"asSlice",
       "asSlice(INPUT)",
       {1},
       1,
       false,
       [](const Workload& w, const ScriptCall& c) { return as_slice(w, word(c)); }},
      {"dead",
       "dead(NAME)",
       {1},
       1,
       false,
       [](const Workload& w, const ScriptCall& c) { return dead(w, word(c)); }},
      {"fuse",
       "fuse(NEW; NAMES)",
       {1, 0},
       2,
       false,
       [](const Workload& w, const ScriptCall& c) { return fuse(w, c.groups[1], word(c)); }},
      {"overlap",
       "overlap(NEW; NAMES)",
       {1, 0},
       2,
       false,
       [](const Workload& w, const ScriptCall& c) { return overlap(w, c.groups[1], word(c)); }},
  };
  return kForms;
}

class ScriptReader {
 public:
  ScriptReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  // Separated by semicolons or line ends; empty ones do not count, so a trailing semicolon is fine.
  std::vector<ScriptCall> calls() {
    std::vector<ScriptCall> result;
    while (true) {
      skip_space();
      if (take(';')) continue;
      if (at_ == text_.size()) return result;
      result.push_back(call());
      skip_blanks();
      if (at_ < text_.size() && text_[at_] != ';' && text_[at_] != '\n')
        fail("expected ; or a new line after a transformation");
    }
  }

  std::string where(const ScriptPlace& place) const {
    return fmt::format("{}:{}:{}", file_, place.line, place.column);
  }

 private:
  [[noreturn]] void fail(const std::string& expected, const std::string& remedy = "") {
    const std::string found = at_ == text_.size()  ? "the end"
                              : text_[at_] == '\n' ? "the end of the line"
                                                   : fmt::format("'{}'", text_[at_]);
    throw InputError(where(place_), fmt::format("{}, found {}", expected, found), remedy);
  }

  // Lines and columns are counted from 1, for errors.
  void next() {
    place_.column++;
    if (text_[at_++] == '\n') place_ = {.line = place_.line + 1, .column = 1};
  }
  // Within a line, and with comments.
  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\r')) next();
    if (at_ < text_.size() && text_[at_] == '#')
      while (at_ < text_.size() && text_[at_] != '\n') next();
  }
  void skip_space() {
    for (skip_blanks(); at_ < text_.size() && text_[at_] == '\n'; skip_blanks()) next();
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    next();
    return true;
  }

  // Letters, digits and _; empty if there is none.
  std::string next_word() {
    skip_space();
    std::string result;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      result += text_[at_];
      next();
    }
    return result;
  }

  ScriptCall call() {
    ScriptCall call = {.at = place_, .name = next_word()};
    // The form is chosen before arguments are read, so that an error can show how the call is written.
    const CallForm* form = nullptr;
    std::string all;
    for (const CallForm& one : call_forms()) {
      if (call.name == one.name) form = &one;
      all += fmt::format("{}{}", all.empty() ? "" : ", ", one.name);
    }
    if (form == nullptr) {
      if (call.name.empty()) fail("expected a transformation", all);
      throw InputError(where(call.at), fmt::format("there is no transformation {}", call.name), all);
    }
    if (!take('(')) fail("expected (", form->usage);
    groups(call, *form);
    return call;
  }

  // Semicolons inside of the parentheses separate groups, those outside separate calls: reorder(avg; m_,
  // v_); dead(m_)
  void groups(ScriptCall& call, const CallForm& form) {
    for (std::size_t g = 0; g < form.words.size(); ++g) {
      call.groups.emplace_back();
      group(call, form, form.words[g]);
      const bool last = g + 1 == form.words.size();
      const bool may_end = static_cast<int>(g) + 1 >= form.needed;
      if (may_end && take(')')) return;
      if (last || !take(';'))
        fail(last ? "expected )" : may_end ? "expected ; or )" : "expected ;", form.usage);
    }
  }

  // `words` of them, or as many as there are for 0; then the layout.
  void group(ScriptCall& call, const CallForm& form, int words) {
    while (true) {
      std::string name = next_word();
      if (name.empty()) fail("expected a name", form.usage);
      call.groups.back().push_back(std::move(name));
      const int count = static_cast<int>(call.groups.back().size());
      if (words == 0 || count < words) {
        if (take(',')) continue;
        if (words == 0) return;
        fail("expected , and another name", form.usage);
      }
      if (form.layout && take(',')) call.layout = layout(form);
      return;
    }
  }

  // Sliced(flat), Sliced(1), Rooted(0). Whether the tensor has that dimension or rank is seen when it is
  // applied.
  TensorLayout layout(const CallForm& form) {
    skip_space();
    const ScriptPlace at = place_;
    const std::string kind = next_word();
    if (kind != "Sliced" && kind != "Rooted") {
      if (kind.empty()) fail("expected a layout", form.usage);
      throw InputError(where(at), fmt::format("there is no layout {} of parts", kind), form.usage);
    }
    if (!take('(')) fail("expected (", form.usage);
    skip_space();
    const ScriptPlace inside = place_;
    const std::string of = next_word();
    int number = kFlat;
    if (kind == "Rooted" || of != "flat") {
      const auto [end, error] = std::from_chars(of.data(), of.data() + of.size(), number);
      if (of.empty() || error != std::errc() || end != of.data() + of.size())
        throw InputError(where(inside), fmt::format("expected {}, found \"{}\"",
                                                    kind == "Rooted" ? "a rank" : "a dimension or flat", of));
    }
    if (!take(')')) fail("expected )", form.usage);
    if (kind == "Rooted") return {.kind = LayoutKind::Rooted, .root = number};
    return {.kind = LayoutKind::Sliced, .dim = number};
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  ScriptPlace place_;
};

}  // namespace

// An error of a transformation is reported at its call, with the words of the transformation.
Workload transformed(const Workload& workload, std::string_view script, const std::string& file) {
  ScriptReader reader(script, file);
  Workload result = workload;
  for (const ScriptCall& call : reader.calls()) {
    for (const CallForm& form : call_forms())
      if (call.name == form.name) {
        OrError<Workload> after = form.apply(result, call);
        if (!after) throw InputError(reader.where(call.at), after.error().what());
        result = *std::move(after);
        break;
      }
  }
  return result;
}

}  // namespace chorale
