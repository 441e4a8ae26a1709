// Transformations as text. A script is read to its end before the first one is applied. A call has groups of
// names between semicolons: reorder(avg; m_, v_; s_). The table below lists the arguments of each call.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <climits>
#include <optional>

#include "ir/error.h"
#include "ir/expression_text.h"
#include "tensor/transformations/transform.h"

namespace chorale {
namespace {

// reorder(avg; m_, v_; s_) has the groups {avg}, {m_, v_}, {s_}; a layout is apart from them.
struct ScriptCall {
  Token at = {};
  std::string name = {};
  std::vector<std::vector<std::string>> groups = {};
  std::optional<TensorLayout> layout = {};
};

// Of words in each group of a call; the last group or the layout may be left out.
struct CallForm {
  std::string_view name;
  const char* usage;
  std::vector<int> words;  // by group; 0: any number, but at least one
  int needed;              // groups
  bool layout;
  OrError<Workload> (*apply)(const Workload&, const ScriptCall&);
};

const std::string& word(const ScriptCall& call, int i = 0) {
  return call.groups[0][i];
}

TensorLayout layout_of(const ScriptCall& call) {
  return call.layout.value_or(TensorLayout{.kind = LayoutKind::Sliced});
}

// Transformations by the words of a call: NAME; NEW; NAMES.
using OfOne = OrError<Workload> (*)(const Workload&, const std::string&);
using OfThree = OrError<Workload> (*)(const Workload&, const std::string&, const std::string&,
                                      const std::string&, TensorLayout);
using OfMany = OrError<Workload> (*)(const Workload&, const std::vector<std::string>&, const std::string&);
template <OfOne transformation>
OrError<Workload> apply(const Workload& workload, const ScriptCall& call) {
  return transformation(workload, word(call));
}
template <OfThree transformation>
OrError<Workload> apply(const Workload& workload, const ScriptCall& call) {
  return transformation(workload, word(call), word(call, 1), word(call, 2), layout_of(call));
}
template <OfMany transformation>
OrError<Workload> apply(const Workload& workload, const ScriptCall& call) {
  return transformation(workload, call.groups[1], word(call));
}
OrError<Workload> apply_split(const Workload& workload, const ScriptCall& call) {
  return split(workload, word(call), word(call, 1), layout_of(call));
}
OrError<Workload> apply_reorder(const Workload& workload, const ScriptCall& call) {
  return reorder(workload, word(call), call.groups[1], call.groups.size() > 2 ? call.groups[2][0] : "s_");
}

// reorder has groups of one name, any number of them and one, of which two groups are needed.
const std::vector<CallForm>& call_forms() {
  static const std::vector<CallForm> kForms = {
      {"split",
       "split(NAME, NEW), with Sliced(flat), Sliced(DIM) or Rooted(RANK) as third",
       {2},
       1,
       true,
       apply_split},
      {"join", "join(NAME)", {1}, 1, false, apply<join>},
      {"shard",
       "shard(NAME, NEW, NEW) or shard(NAME, NEW, NEW, Sliced(DIMENSION))",
       {3},
       1,
       true,
       apply<shard>},
      {"levels",
       "levels(NAME, NEW, NEW) or levels(NAME, NEW, NEW, Sliced(DIMENSION))",
       {3},
       1,
       true,
       apply<levels>},
      {"reorder", "reorder(NAME; NAMES) or reorder(NAME; NAMES; PREFIX)", {1, 0, 1}, 2, false, apply_reorder},
      {"asSlice", "asSlice(INPUT)", {1}, 1, false, apply<as_slice>},
      {"dead", "dead(NAME)", {1}, 1, false, apply<dead>},
      {"fuse", "fuse(NEW; NAMES)", {1, 0}, 2, false, apply<fuse>},
      {"overlap", "overlap(NEW; NAMES)", {1, 0}, 2, false, apply<overlap>}};
  return kForms;
}

const CallForm* form_named(std::string_view name) {
  const auto form = std::ranges::find(call_forms(), name, &CallForm::name);
  return form == call_forms().end() ? nullptr : &*form;
}

// Reads calls from tokens, of which ";" is one; a call also ends with its line.
class ScriptReader {
 public:
  ScriptReader(std::string_view text, const std::string& file)
      : file_(file), tokens_(tokens(text, file, ";")) {}

  // Empty calls do not count, so a trailing semicolon is fine.
  std::vector<ScriptCall> calls() {
    std::vector<ScriptCall> result;
    while (true) {
      if (take(";")) continue;
      if (now().kind == Token::Kind::End) return result;
      result.push_back(call());
      if (now().kind != Token::Kind::End && now().text != ";" && now().line == tokens_[at_ - 1].line)
        fail("expected ; or a new line after a transformation");
    }
  }

 private:
  const Token& now() const { return tokens_[at_]; }
  [[noreturn]] void fail(const std::string& expected, const std::string& remedy = "") const {
    throw InputError(place(file_, now()), fmt::format("{}, found {}", expected, shown_token(now())), remedy);
  }
  bool take(std::string_view symbol) {
    const bool there = now().kind == Token::Kind::Symbol && now().text == symbol;
    at_ += there ? 1 : 0;
    return there;
  }
  void expect(std::string_view symbol, const CallForm& form) {
    if (!take(symbol)) fail(fmt::format("expected {}", symbol), form.usage);
  }
  std::string take_name(const std::string& expected, const std::string& remedy) {
    if (now().kind != Token::Kind::Name) fail(expected, remedy);
    return std::string(tokens_[at_++].text);
  }

  // The form is chosen before arguments are read, so that an error can show how the call is written.
  ScriptCall call() {
    std::vector<std::string_view> all;
    for (const CallForm& form : call_forms()) all.push_back(form.name);
    const std::string known = fmt::format("{}", fmt::join(all, ", "));
    ScriptCall call = {.at = now()};
    call.name = take_name("expected a transformation", known);
    const CallForm* const form = form_named(call.name);
    if (form == nullptr)
      throw InputError(place(file_, call.at), fmt::format("there is no transformation {}", call.name), known);
    expect("(", *form);
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
      if (may_end && take(")")) return;
      if (last || !take(";"))
        fail(last ? "expected )" : may_end ? "expected ; or )" : "expected ;", form.usage);
    }
  }

  // `words` of them, or as many as there are for 0; then the layout.
  void group(ScriptCall& call, const CallForm& form, int words) {
    while (true) {
      call.groups.back().push_back(take_name("expected a name", form.usage));
      const int count = static_cast<int>(call.groups.back().size());
      if (words == 0 || count < words) {
        if (take(",")) continue;
        if (words == 0) return;
        fail("expected , and another name", form.usage);
      }
      if (form.layout && take(",")) call.layout = layout(form);
      return;
    }
  }

  // Sliced(flat), Sliced(1), Rooted(0). Whether the tensor has that dimension or rank is seen when it is
  // applied.
  TensorLayout layout(const CallForm& form) {
    const Token kind = now();
    const std::string name = take_name("expected a layout", form.usage);
    if (name != "Sliced" && name != "Rooted")
      throw InputError(place(file_, kind), fmt::format("there is no layout {} of parts", name), form.usage);
    expect("(", form);
    TensorLayout layout{.kind = name == "Rooted" ? LayoutKind::Rooted : LayoutKind::Sliced};
    const bool rooted = layout.kind == LayoutKind::Rooted, flat = !rooted && now().text == "flat";
    if (!flat && (now().whole < 0 || now().whole > INT_MAX))
      fail(rooted ? "expected a rank" : "expected a dimension or flat");
    if (!flat) (rooted ? layout.root : layout.dim) = static_cast<int>(now().whole);
    ++at_;
    expect(")", form);
    return layout;
  }

  const std::string& file_;
  const std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

}  // namespace

// An error of a transformation is reported at its call, with the words of the transformation.
Workload transformed(const Workload& workload, std::string_view script, const std::string& file) {
  ScriptReader reader(script, file);
  Workload result = workload;
  for (const ScriptCall& call : reader.calls()) {
    OrError<Workload> after = form_named(call.name)->apply(result, call);
    if (!after) throw InputError(place(file, call.at), after.error().what());
    result = *std::move(after);
  }
  return result;
}

}  // namespace chorale
