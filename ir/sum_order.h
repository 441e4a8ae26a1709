// In which order the contributions to a sum are added. Floating-point addition is commutative but not
// associative, so the bits of a sum are those of its *combination tree*: leaves are contributions, an inner
// node adds what its children hold, and the order of two children has no meaning. A node with more than two
// children adds them from the left, by their first leaf.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chorale {

struct CombinationTree {
  // Nodes 0 .. leaves-1 are the contributions of these ranks; every other node is after its children. -1: no
  // parent.
  int leaves = 0;
  std::vector<int> parent = {};  // by node
  bool operator==(const CombinationTree&) const = default;
};

// Of values that are numbered: `into` becomes the sum of both, `from` is used up.
struct Addition {
  int into = 0;
  int from = 0;
  bool operator==(const Addition&) const = default;
};

// How several values become one. The last addition makes the result.
struct Combined {
  std::vector<Addition> additions = {};
  int node = -1;  // of the tree, that the result holds
};

// Adds along a tree, which must outlive it.
class Combining {
 public:
  explicit Combining(const CombinationTree&);
  // `nodes[k]` is the node that value k holds. Nullopt where no node is just the sum of these, since others
  // are added in between.
  std::optional<Combined> operator()(const std::vector<int>& nodes) const;

 private:
  const CombinationTree& tree_;
  std::vector<int> first_, children_;  // by node: the lowest leaf; how many
};

// Which two of three contributions are added up first. Of a binary tree.
class FirstPairs {
 public:
  explicit FirstPairs(const CombinationTree&);
  // Are a and b, and not one of them with c? Requires three leaves that differ.
  bool first(int a, int b, int c) const;

 private:
  int meet(int a, int b) const;
  const std::vector<int> parent_;
};

// Returns the tree without the leaves that are not among `ranks`, and without inner nodes that then have one
// child. The other leaves keep their numbers.
CombinationTree restricted(const CombinationTree&, const std::vector<int>& ranks);

// Leaf n becomes leaf `ranks[n]`.
CombinationTree renumbered(const CombinationTree&, const std::vector<int>& ranks);

// What a collective asks of its sums.
struct SumOrder {
  enum class Kind {
    Agreed,  // each chunk has one combination tree at all its destinations: ranks end with the same bits
    Free,    // each rank may add in an order of its own
    Fixed,   // every chunk has this tree, whatever the schedule: the same bits for each point, size and owner
  };
  Kind kind = Kind::Agreed;
  CombinationTree tree = {};  // of Fixed: binary, over all ranks, as parse_sum_order makes it
  bool operator==(const SumOrder&) const = default;
};

// As files and people have it: "agreed", "free", or a tree in brackets, "((0 1) (2 3))"; more than two in a
// pair of brackets are added from the left. Equal trees are equal values. Throws InputError at `where` for
// what is not of these, or has not each of the ranks once.
SumOrder parse_sum_order(std::string_view text, int ranks, const std::string& where);
std::string to_string(const SumOrder&);
std::string to_string(const CombinationTree&);

}  // namespace chorale
