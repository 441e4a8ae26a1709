// A transport that loses one end of the messages of a step: its rank neither knows nor tells.
#pragma once

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
    std::erase_if(end_ == End::Send ? sends : receives,
                  [&](const Delivery& each) { return each.step == step_; });
    under_.exchange(sends, receives);
  }

 private:
  Transport& under_;
  const int step_;
  const End end_;
};

}  // namespace chorale
