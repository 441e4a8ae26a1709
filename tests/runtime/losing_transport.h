// A transport that loses one end of the messages of a step: its rank neither knows nor tells.
#pragma once

#include <utility>
#include <vector>

#include "runtime/exchange/transport.h"

namespace chorale {

class LosingTransport : public Transport {
 public:
  enum class End { Send, Receive };
  LosingTransport(Transport& under, int step, End end) : under_(under), step_(step), end_(end) {}

  int rank() const override { return under_.rank(); }
  int ranks() const override { return under_.ranks(); }
  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    under_.exchange(sends, receives);
  }
  void start(Delivery& message, bool sends, int number) override {
    if (message.step == step_ && sends == (end_ == End::Send))
      lost_.push_back(number);
    else
      under_.start(message, sends, number);
  }
  std::vector<int> ended(bool waits = true) override {
    return lost_.empty() ? under_.ended(waits) : std::exchange(lost_, {});
  }

 private:
  Transport& under_;
  const int step_;
  const End end_;
  std::vector<int> lost_ = {};
};

}  // namespace chorale
