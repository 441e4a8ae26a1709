// The exhaustive search of tests/kit/exhaustive.h for programs that are not C++. A line of numbers on
// standard input is a question, a line on standard output its answer:
//
//   ranks  links (src dst bandwidth)...  limits (bandwidth multicast reduce links link...)...  combining
//   order (0: ranks may add up as they like; 1: those that get a chunk must agree; else further numbers of
//   sums, each the bits of the ranks in it: no others are made)...
//   chunks (ranks-before rank... ranks-after rank...)...  most-steps work
//
//   big                        more than `work` transitions, no answer
//   open|closed e0 e1 e2 ...   schedules of exactly s steps need s + e_s rounds; - if there is none
#include "tests/kit/exhaustive.h"

#include <iostream>
#include <sstream>

namespace {

namespace exhaustive = chorale::test::exhaustive;

std::string answered(std::istream& in) {
  const auto number = [&] {
    long long value = 0;
    in >> value;
    return static_cast<int>(value);
  };
  const auto numbers = [&] {
    std::vector<int> all(number());
    for (int& each : all) each = number();
    return all;
  };
  exhaustive::Question asked{.ranks = number()};
  asked.links.resize(number());
  for (exhaustive::Link& link : asked.links) link = {.src = number(), .dst = number(), .bandwidth = number()};
  asked.limits.resize(number());
  for (exhaustive::Limit& limit : asked.limits)
    limit = {.bandwidth = number(), .multicast = number() != 0, .reduce = number() != 0, .links = numbers()};
  asked.combining = number() != 0;
  const int order = number();
  asked.order = static_cast<exhaustive::Order>(std::min(order, 2));
  for (int sums = order - 1; sums > 0; --sums) asked.allowed.insert(number());
  asked.chunks.resize(number());
  for (exhaustive::Chunk& chunk : asked.chunks) chunk = {.pre = numbers(), .post = numbers()};
  const int most_steps = number(), work = number();
  const auto answer = exhaustive::Search(std::move(asked), work).answer(most_steps);
  if (!answer) return "big";
  std::string text = answer->closed ? "closed" : "open";
  for (const int excess : answer->excess)
    text += excess == exhaustive::kNever ? " -" : " " + std::to_string(excess);
  return text;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream in(line);
    std::cout << answered(in) << std::endl;
  }
}
