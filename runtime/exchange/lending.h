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
#include <functional>
#include <stdexcept>
#include <utility>
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
    for (Delivery& receive : receives) {
      Sent sent;
      wait([&] { return is_there(receive, sent); }, receive, false);
      take(sent, receive);
    }
    for (std::size_t i = 0; i < sends.size(); ++i)
      if (!sends[i].stays) await(sends[i], tickets_[i]);
  }
  void release(std::vector<Delivery>& sends, std::vector<Delivery>& receives) override {
    for (Delivery& receive : receives) give_back(receive);
    for (std::size_t i = 0; i < sends.size(); ++i)
      if (sends[i].stays) await(sends[i], tickets_[i]);
  }

  MessageOrder order() const override { return MessageOrder::Memory; }
  // A send for which there is no room is published when there is.
  void start(Delivery& message, bool sends, int number) override {
    const bool now = sends && unpublished_ == 0 && has_room(message);
    started_.push_back({&message, sends, number, {}, now, false});
    if (now) started_.back().sent.ticket = publish(message);
    if (sends && !now) ++unpublished_;
  }
  std::vector<int> ended(bool waits = true) override {
    const auto any = [this] { return any_is_over(); };
    if (!waits && !holds(any)) return {};
    if (waits) wait(any, *started_.front().message, started_.front().sends);
    std::vector<int> numbers;
    for (Started& each : started_) {
      if (!each.is_over) continue;
      numbers.push_back(each.number);
      if (each.sends)
        forget(each.sent.ticket);
      else
        take(each.sent, *each.message);
    }
    started_.erase(
        std::remove_if(started_.begin(), started_.end(), [](const Started& each) { return each.is_over; }),
        started_.end());
    return numbers;
  }
  void give_back(Delivery& receive) override {
    if (receive.ticket != 0) hand_back(receive.peer, std::exchange(receive.ticket, 0));
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
  using Condition = std::function<bool()>;

  virtual bool has_room(const Delivery& /*send*/) { return true; }  // so that publish() does not wait
  virtual Ticket publish(const Delivery& send) = 0;
  virtual void hand_back(int peer, Ticket ticket) = 0;
  // Within conditions: whether what a receive is for is there, and a send is given back.
  virtual bool is_there(const Delivery& receive, Sent&) = 0;
  virtual bool is_back(const Delivery& send, Ticket) = 0;
  virtual void forget(Ticket) {}  // of a send that is given back
  // Whether it holds now; and waits until it does, of which a Hang tells by the message.
  virtual bool holds(const Condition&) = 0;
  virtual void wait(const Condition&, const Delivery&, bool sends) = 0;

  void await(const Delivery& send, Ticket ticket) {
    wait([&] { return is_back(send, ticket); }, send, true);
    forget(ticket);
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
  struct Started {
    Delivery* message;
    bool sends;
    int number;
    Sent sent;  // of a send its ticket
    bool is_published, is_over;
  };

  // What was sent by several is looked through once for each receive. A peer may make room at any moment:
  // what comes behind a send without room waits, too, so that messages of a pair stay in order.
  bool any_is_over() {
    bool any = false;
    std::vector<int> full;  // peers
    for (Started& each : started_) {
      if (!each.sends)
        each.is_over = is_there(*each.message, each.sent);
      else if (each.is_published)
        each.is_over = is_back(*each.message, each.sent.ticket);
      else if (std::find(full.begin(), full.end(), each.message->peer) != full.end())
        continue;
      else if (!has_room(*each.message))
        full.push_back(each.message->peer);
      else {
        each.sent.ticket = publish(*each.message);
        each.is_published = true;
        --unpublished_;
      }
      any = any || each.is_over;
    }
    return any;
  }
  // Borrows what a receive is for, or copies it.
  void take(const Sent& sent, Delivery& receive) {
    if (sent.bytes != receive.bytes) throw std::logic_error("a message has another length than is expected");
    receive.at = receive.data;
    receive.at_pieces = nullptr;
    if (!receive.borrows || !sent.stays) {
      copy(sent, receive);
      return hand_back(receive.peer, sent.ticket);
    }
    receive.at = sent.data;
    receive.at_pieces = sent.pieces;
    receive.ticket = sent.ticket;
    // The pieces that it was to be stored in do not hold it.
    if (sent.pieces == nullptr) receive.pieces.clear();
  }

  std::vector<Ticket> tickets_ = {};  // by send of the exchange
  std::vector<Ticket> posted_tickets_ = {};
  std::vector<Started> started_ = {};
  int unpublished_ = 0;
};

}  // namespace chorale
