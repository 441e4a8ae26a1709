// Finds the cheapest spanning arborescences of a directed graph (Chu and Liu 1965; Edmonds 1967), of all
// roots at once: cycles of cheapest arcs are contracted until none is left, whatever the root, and the one of
// a root is read off by opening the cycles around it (Tarjan 1977).
#pragma once

#include <span>
#include <vector>

namespace chorale {

struct WeightedArc {
  int from = 0;
  int to = 0;
  double weight = 0;
};

class Arborescences {
 public:
  // Contracts the graph; the arcs are not kept.
  void contract(int vertices, std::span<const WeightedArc>);

  // Returns the least weight of arcs, one into each vertex but the root, that together reach all from it.
  // Negative if some vertex cannot be reached.
  double cost(int root) const;
  // Sets `arcs` to the numbers of these arcs, by the vertex that they enter; -1 for the root. Requires a
  // cost.
  void arcs_into(int root, std::vector<int>& arcs);

  long long work() const { return work_; }  // arcs examined so far

 private:
  // `weight`: above those of the arcs of cycles that it would replace.
  struct In {
    int arc = -1, from = 0, to = 0;  // vertices
    double weight = 0;
  };
  // A node is a vertex, or a cycle that is contracted.
  struct Node {
    int first = 0, last = 0;    // its arcs in, of arcs_; at most one from each other node, if it is a cycle
    int parent = -1;            // the cycle that it is part of
    int child = -1, next = -1;  // a part of the cycle; the next part of its parent
    int path = -1;              // on which it was found
    In into = {};               // the cheapest
  };

  int top_of(int node);
  int contract_cycle(int first);
  void grow_from(int vertex);
  void open(int vertex, int within);

  int vertices_ = 0;
  std::vector<Node> nodes_ = {};
  std::vector<In> arcs_ = {};
  std::vector<int> top_ = {};       // by node, union-find
  std::vector<int> in_cycle_ = {};  // by node: its arc into the cycle that is being contracted, of arcs_
  std::vector<int> waiting_ = {};   // nodes whose arc in is to be taken
  double sum_ = 0;                  // of the weights of all arcs that were chosen
  int sources_ = 0;                 // nodes without an arc in: one, if there is an arborescence
  long long work_ = 0;
};

}  // namespace chorale
