// What transports have in common whose ranks read each other's memory: threads of a process (threads.h) and
// processes of a machine (shared.h). A sender publishes where its data lie; the receiver reads them there,
// and gives them back. So data that are added up move once, into the registers of the rank that adds.
//
// An exchange publishes all its messages before it waits for anything, and a release gives back all that it
// borrowed before it waits for others to do so. So if messages match, both end, however ranks are scheduled.
// C++17, and is copied into emitted programs.
#pragma once

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "runtime/exchange/transport.h"

namespace chorale {

class LendingTransport : public HostTransport {
 public:
  using Ticket = std::uint64_t;  // of a message, from the sender, by which it is given back
  struct Sent {
    int from = 0, tag = 0;
    const void* data = nullptr;
    const std::vector<Interval<char>>* pieces = nullptr;  // instead of data
    std::int64_t bytes = 0;
    bool stays = false;
    Ticket ticket = 0;
  };

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    tickets_.clear();
    for (const Delivery& send : sends) tickets_.push_back(publish(send));
    borrowed_.clear();
    for (Delivery& receive : receives) {
      const Sent sent = found(receive);
      check_length(sent, receive);
      receive.at = receive.data;
      receive.at_pieces = nullptr;
      if (receive.borrows && sent.stays) {
        receive.at = sent.data;
        receive.at_pieces = sent.pieces;
        // The pieces that it was to be stored in do not hold it.
        if (sent.pieces == nullptr) receive.pieces.clear();
        borrowed_.push_back({receive.peer, sent.ticket});
        continue;
      }
      copy(sent, receive);
      give_back(receive.peer, sent.ticket);
    }
    for (std::size_t i = 0; i < sends.size(); ++i)
      if (!sends[i].stays) await(sends[i], tickets_[i]);
  }
  void release(std::vector<Delivery>& sends, std::vector<Delivery>&) override {
    for (const Borrowed& each : borrowed_) give_back(each.peer, each.ticket);
    borrowed_.clear();
    for (std::size_t i = 0; i < sends.size(); ++i)
      if (sends[i].stays) await(sends[i], tickets_[i]);
  }

  void post(const Delivery& send) override {
    posted_.push_back(send);
    posted_tickets_.push_back(publish(send));
  }
  void finish() override {
    for (std::size_t i = 0; i < posted_.size(); ++i) await(posted_[i], posted_tickets_[i]);
    posted_.clear();
    posted_tickets_.clear();
  }

 protected:
  virtual Ticket publish(const Delivery& send) = 0;
  virtual Sent found(const Delivery& receive) = 0;  // waits for it
  virtual void give_back(int peer, Ticket ticket) = 0;
  virtual void await(const Delivery& send, Ticket ticket) = 0;  // until it is given back

  static void check_length(const Sent& sent, const Delivery& receive) {
    if (sent.bytes != receive.bytes) throw std::logic_error("a message has another length than is expected");
  }
  // The first that this receive is for, if it is there. Messages of a pair with one tag arrive in order.
  static bool taken(std::vector<Sent>& arrived, const Delivery& receive, Sent& result) {
    const auto it = std::find_if(arrived.begin(), arrived.end(), [&](const Sent& sent) {
      return sent.from == receive.peer && sent.tag == receive.tag;
    });
    if (it == arrived.end()) return false;
    result = *it;
    arrived.erase(it);
    return true;
  }

  // Copies between contiguous memory or pieces.
  static void copy(const Sent& sent, const Delivery& receive) {
    std::int64_t from_piece = 0, from_byte = 0;
    const auto copy_to = [&](char* to, std::int64_t bytes) {
      while (bytes > 0) {
        const char* from = static_cast<const char*>(sent.data) + from_byte;
        std::int64_t count = bytes;
        if (sent.pieces != nullptr) {
          const Interval<char>& piece = (*sent.pieces)[static_cast<std::size_t>(from_piece)];
          from = piece.at + from_byte;
          count = std::min(bytes, piece.count - from_byte);
          if (from_byte + count == piece.count) ++from_piece, from_byte = -count;
        }
        std::memcpy(to, from, static_cast<std::size_t>(count));
        from_byte += count;
        to += count;
        bytes -= count;
      }
    };
    if (receive.pieces.empty()) return copy_to(static_cast<char*>(receive.data), sent.bytes);
    for (const Interval<char>& piece : receive.pieces) copy_to(piece.at, piece.count);
  }

 private:
  struct Borrowed {
    int peer;
    Ticket ticket;
  };

  std::vector<Ticket> tickets_ = {};  // by send of the exchange
  std::vector<Ticket> posted_tickets_ = {};
  std::vector<Borrowed> borrowed_ = {};
};

}  // namespace chorale
