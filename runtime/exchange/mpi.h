// Ranks as processes of MPI, for runtime/exchange/exchange.h: all messages of a step at once. C++17, and is
// copied into emitted programs.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "runtime/exchange/arrival.h"
#include "runtime/exchange/device.h"
#include "runtime/exchange/exchange.h"

namespace chorale {

class MpiTransport {
 public:
  // The caller keeps the communicator, and sends nothing in it while a program runs.
  explicit MpiTransport(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }

  using Device = HostDevice;
  Device& device() { return device_; }
  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) {
    requests_.clear();
    for (Delivery& receive : receives) {
      start(receive, requests_, [&](void* data, int count, MPI_Datatype type, MPI_Request* request) {
        return MPI_Irecv(data, count, type, receive.peer, receive.tag, comm_, request);
      });
      receive.at = receive.data;
      receive.at_pieces = nullptr;
    }
    for (const Delivery& send : sends)
      start_send(send, requests_, waits_for_arrival(!receives.empty(), send.bytes));
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }
  void release(std::vector<Delivery>&, std::vector<Delivery>&) {}

  void post(const Delivery& send) { start_send(send, posted_, false); }
  void finish() {
    check(MPI_Waitall(static_cast<int>(posted_.size()), posted_.data(), MPI_STATUSES_IGNORE));
    posted_.clear();
  }

  void barrier() { check(MPI_Barrier(comm_)); }
  std::vector<double> all(double mine) {
    std::vector<double> result(static_cast<std::size_t>(ranks_));
    check(MPI_Allgather(&mine, 1, MPI_DOUBLE, result.data(), 1, MPI_DOUBLE, comm_));
    return result;
  }

 private:
  void start_send(const Delivery& send, std::vector<MPI_Request>& requests, bool arrives) {
    start(send, requests, [&](void* data, int count, MPI_Datatype type, MPI_Request* request) {
      return (arrives ? MPI_Issend : MPI_Isend)(data, count, type, send.peer, send.tag, comm_, request);
    });
  }
  // One message of any content: pieces, and messages longer than an int can count, get a derived datatype.
  template <typename Start>
  static void start(const Delivery& delivery, std::vector<MPI_Request>& requests, Start function) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    requests.emplace_back();
    if (delivery.pieces.empty() && delivery.bytes <= most) {
      check(function(delivery.data, static_cast<int>(delivery.bytes), MPI_BYTE, &requests.back()));
      return;
    }
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    const auto add = [&](char* at, std::int64_t count) {
      for (std::int64_t b = 0; b < count; b += most) {
        places.emplace_back();
        lengths.push_back(static_cast<int>(std::min(most, count - b)));
        check(MPI_Get_address(at + b, &places.back()));
      }
    };
    if (delivery.pieces.empty()) add(static_cast<char*>(delivery.data), delivery.bytes);
    for (const Stretch<char>& piece : delivery.pieces) add(piece.at, piece.count);
    MPI_Datatype type = MPI_DATATYPE_NULL;
    check(MPI_Type_create_hindexed(static_cast<int>(places.size()), lengths.data(), places.data(), MPI_BYTE,
                                   &type));
    check(MPI_Type_commit(&type));
    check(function(MPI_BOTTOM, 1, type, &requests.back()));
    check(MPI_Type_free(&type));  // once the message is through
  }
  static void check(int code) {
    if (code != MPI_SUCCESS) throw std::runtime_error("MPI reports error " + std::to_string(code));
  }

  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
  HostDevice device_ = {};
  std::vector<MPI_Request> requests_ = {}, posted_ = {};
};

}  // namespace chorale
