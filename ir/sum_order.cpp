// Values climb the tree: the lowest node that holds any is done first, since children come before their
// parents. Its values are added in the order of their first leaves, and the sum goes to the parent as one
// value, until one is left.
#include "ir/sum_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <utility>

#include "ir/error.h"

namespace chorale {
namespace {

// The smallest rank below each node: its place among the children of its parent.
std::vector<int> first_leaves(const CombinationTree& tree) {
  std::vector<int> first(tree.parent.size(), tree.leaves);
  for (int node = 0; node < std::ssize(tree.parent); ++node) {
    if (node < tree.leaves) first[node] = node;
    if (const int up = tree.parent[node]; up >= 0) first[up] = std::min(first[up], first[node]);
  }
  return first;
}

// How many values a node waits for.
std::vector<int> child_counts(const CombinationTree& tree) {
  std::vector<int> counts(tree.parent.size(), 0);
  for (const int up : tree.parent)
    if (up >= 0) ++counts[up];
  return counts;
}

// A tree in brackets, read from the left. A node is numbered when its sum is complete, so children come
// before their parents. The numbers depend on how the tree is written; parse_sum_order() reads the canonical
// text once more, so that equal trees are equal values.
class TreeParser {
 public:
  TreeParser(std::string text, int ranks, std::string where)
      : text_(std::move(text)),
        where_(std::move(where)),
        tree_{.leaves = ranks, .parent = std::vector<int>(ranks, -1)},
        met_(ranks) {}

  CombinationTree parse() {
    node();
    skip_spaces();
    if (at_ < text_.size()) fail("goes on after its last bracket");
    if (const auto missing = std::ranges::find(met_, false); missing != met_.end())
      fail(fmt::format("lacks rank {}", missing - met_.begin()));
    return std::move(tree_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::string shown = text_.size() > 60 ? text_.substr(0, 60) + "..." : text_;
    throw InputError(where_, fmt::format("the tree '{}' {}", shown, what),
                     "write each rank once, in brackets: ((0 1) (2 3))");
  }
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool next_is(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c;
  }

  // "(a b c)" is "((a b) c)": more than two values are added from the left.
  int node() {
    if (!next_is('(')) return leaf();
    if (++depth_ > kDeepest) fail(fmt::format("is more than {} brackets deep", kDeepest));
    ++at_;
    std::vector<int> children;
    while (!next_is(')')) children.push_back(node());
    ++at_;
    --depth_;
    if (children.empty()) fail("has brackets with nothing inside");
    int sum = children.front();
    for (std::size_t k = 1; k < children.size(); ++k) {
      const int both = static_cast<int>(tree_.parent.size());
      tree_.parent.push_back(-1);
      tree_.parent[sum] = tree_.parent[children[k]] = both;
      sum = both;
    }
    return sum;
  }

  // The number is read until it exceeds the last rank, so that it cannot overflow.
  int leaf() {
    skip_spaces();
    long rank = 0;
    const std::size_t begin = at_;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 &&
           rank < tree_.leaves)
      rank = rank * 10 + (text_[at_++] - '0');
    if (at_ == begin)
      fail(at_ < text_.size() ? fmt::format("has '{}' where a rank should be", text_[at_]) : "ends early");
    if (rank >= tree_.leaves) fail(fmt::format("names a rank that is not one of {}", tree_.leaves));
    if (met_[rank]) fail(fmt::format("names rank {} twice", rank));
    met_[rank] = true;
    return static_cast<int>(rank);
  }

  // node() recurses. A tree of 4,096 ranks (kMostRanks) is at most that deep.
  static constexpr int kDeepest = 4096;
  const std::string text_;
  const std::string where_;
  CombinationTree tree_;
  std::vector<bool> met_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

// Pairs of aligned blocks of 2^k ranks: ((0 1) (2 3)) ((4 5) 6). A block of them has one sum, whichever rank
// holds how many of its terms.
std::string by_index(int begin, int end) {
  if (end - begin == 1) return std::to_string(begin);
  const int middle = begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
  return "(" + by_index(begin, middle) + " " + by_index(middle, end) + ")";
}

// Of its nodes the root alone has children: adds_once() of ir/agreement.h.
bool is_flat(const CombinationTree& tree) {
  return tree.leaves > 0 && static_cast<int>(tree.parent.size()) <= tree.leaves + 1;
}
CombinationTree flat(int ranks) {
  if (ranks < 2) return {.leaves = ranks, .parent = std::vector<int>(ranks, -1)};
  CombinationTree tree{.leaves = ranks, .parent = std::vector<int>(ranks, ranks)};
  tree.parent.push_back(-1);
  return tree;
}

// Of each node, in the order in which they are added.
std::vector<std::vector<int>> children_of(const CombinationTree& tree) {
  const std::vector<int> first = first_leaves(tree);
  std::vector<std::vector<int>> children(tree.parent.size());
  for (int node = 0; node < std::ssize(tree.parent); ++node)
    if (tree.parent[node] >= 0) children[tree.parent[node]].push_back(node);
  for (std::vector<int>& each : children) std::ranges::sort(each, {}, [&](int node) { return first[node]; });
  return children;
}

}  // namespace

Combining::Combining(const CombinationTree& tree)
    : tree_(tree), first_(first_leaves(tree)), children_(child_counts(tree)) {}

// `at` has the nodes with values, the lowest first: when it is a node's turn, all below it is done. A node is
// complete if one value holds it, or if values for all its children have come up. Nullopt where a child lacks
// a value, or where values are left over at a root.
std::optional<Combined> Combining::operator()(const std::vector<int>& nodes) const {
  struct Values {
    bool whole = false;                           // one, that holds the node
    std::vector<std::pair<int, int>> terms = {};  // first leaf and number; else of children
  };
  Combined result;
  std::map<int, Values> at;  // by node
  for (int k = 0; k < std::ssize(nodes); ++k) at[nodes[k]] = {true, {{first_[nodes[k]], k}}};
  while (!at.empty()) {
    auto [node, values] = *at.begin();
    at.erase(at.begin());
    if (!values.whole && std::ssize(values.terms) != children_[node]) return std::nullopt;
    std::ranges::sort(values.terms);
    const int sum = values.terms.front().second;
    for (std::size_t k = 1; k < values.terms.size(); ++k)
      result.additions.push_back({.into = sum, .from = values.terms[k].second});
    result.node = node;
    if (at.empty()) return result;
    if (tree_.parent[node] < 0) return std::nullopt;
    at[tree_.parent[node]].terms.push_back({first_[node], sum});
  }
  return std::nullopt;
}

FirstPairs::FirstPairs(const CombinationTree& tree) : parent_(tree.parent) {}

// The lowest node above both: parents have larger numbers.
int FirstPairs::meet(int a, int b) const {
  while (a != b) (a < b ? a : b) = parent_[std::min(a, b)];
  return a;
}

// Of a binary tree, two of the three pairs meet at the same node, and the third below it.
bool FirstPairs::first(int a, int b, int c) const {
  return meet(a, b) < meet(a, c);
}

// Nodes with one child left stand for that child, so the order of the other sums stays: ((0 1) (2 3)) of the
// ranks 0, 2 and 3 is (0 (2 3)). Kept inner nodes are numbered in the order of the tree's, so children still
// come first.
CombinationTree restricted(const CombinationTree& tree, const std::vector<int>& ranks) {
  const auto nodes = static_cast<int>(tree.parent.size());
  std::vector<int> below(nodes, 0), stands_for(nodes, -1);  // children that stay; the new number
  for (const int n : ranks) stands_for[n] = n;
  CombinationTree result{.leaves = tree.leaves, .parent = std::vector<int>(tree.leaves, -1)};
  std::vector<std::vector<int>> kept(nodes);
  for (int node = 0; node < nodes; ++node) {
    if (node >= tree.leaves && kept[node].size() == 1) stands_for[node] = kept[node].front();
    if (kept[node].size() > 1) {
      stands_for[node] = static_cast<int>(result.parent.size());
      result.parent.push_back(-1);
      for (const int child : kept[node]) result.parent[child] = stands_for[node];
    }
    if (stands_for[node] >= 0 && tree.parent[node] >= 0) kept[tree.parent[node]].push_back(stands_for[node]);
  }
  return result;
}

// Leaves are exchanged, inner nodes stay: then the numbers are no longer those of the canonical text.
CombinationTree renumbered(const CombinationTree& tree, const std::vector<int>& ranks) {
  if (is_flat(tree)) return tree;
  CombinationTree result = tree;
  for (int n = 0; n < tree.leaves; ++n) result.parent[ranks[n]] = tree.parent[n];
  return TreeParser(to_string(result), tree.leaves, "").parse();  // pairs are numbered again
}

SumOrder parse_sum_order(std::string_view text, int ranks, const std::string& where) {
  if (text == "agreed") return {};
  if (text == "free") return {.kind = SumOrder::Kind::Free};
  if (text == "once") return {.kind = SumOrder::Kind::Fixed, .tree = flat(ranks)};
  if (text == "by-index" && ranks > 0) return parse_sum_order(by_index(0, ranks), ranks, where);
  // Once more from the canonical text: pairs are then numbered alike, however the tree was written.
  const CombinationTree tree = TreeParser(std::string(text), ranks, where).parse();
  return {.kind = SumOrder::Kind::Fixed, .tree = TreeParser(to_string(tree), ranks, where).parse()};
}

// The canonical text: children by their lowest leaf. Children come before parents, so one pass suffices;
// texts of children are given up as they are taken, so all texts together are as long as the result. Of a
// tree over all ranks the last node is the root.
std::string to_string(const CombinationTree& tree) {
  const std::vector<std::vector<int>> children = children_of(tree);
  std::vector<std::string> texts(tree.parent.size());
  for (int node = 0; node < std::ssize(tree.parent); ++node) {
    if (node < tree.leaves) {
      texts[node] = std::to_string(node);
    } else {
      for (const int child : children[node]) {
        texts[node] += (texts[node].empty() ? "(" : " ") + texts[child];
        texts[child].clear();
      }
      texts[node] += ")";
    }
  }
  return texts.back();
}

std::string to_string(const SumOrder& order) {
  switch (order.kind) {
    case SumOrder::Kind::Agreed:
      return "agreed";
    case SumOrder::Kind::Free:
      return "free";
    case SumOrder::Kind::Fixed:
      break;
  }
  return is_flat(order.tree) && order.tree.leaves > 2 ? "once" : to_string(order.tree);
}

}  // namespace chorale
