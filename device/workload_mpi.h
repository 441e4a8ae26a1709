// Ranks as processes of MPI, for device/workload_exchange.h: all messages of a step at once. C++17, and goes along with
// what is emitted.
#pragma once

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "device/workload_exchange.h"

namespace chorale {

class MpiTransport {
 public:
  // The communicator stays its owner's, who sends nothing in it while a program runs.
  explicit MpiTransport(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }

  void exchange(std::vector<Delivery>& sends, std::vector<Delivery>& receives) {
    requests_.clear();
    for (Delivery& receive : receives) {
      for_each_part(receive, requests_, [&](char* data, int bytes, MPI_Request* request) {
        return MPI_Irecv(data, bytes, MPI_BYTE, receive.peer, receive.tag, comm_, request);
      });
      receive.at = receive.data;
    }
    for (Delivery& send : sends)
      for_each_part(send, requests_, [&](char* data, int bytes, MPI_Request* request) {
        return MPI_Isend(data, bytes, MPI_BYTE, send.peer, send.tag, comm_, request);
      });
    check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE));
  }
  void release(std::vector<Delivery>&, std::vector<Delivery>&) {}

  void post(const Delivery& send) {
    for_each_part(send, posted_, [&](char* data, int bytes, MPI_Request* request) {
      return MPI_Isend(data, bytes, MPI_BYTE, send.peer, send.tag, comm_, request);
    });
  }
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
  // MPI counts in ints.
  template <typename Start>
  void for_each_part(const Delivery& transfer, std::vector<MPI_Request>& requests, Start start) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    for (std::int64_t at = 0; at < transfer.bytes; at += most) {
      requests.emplace_back();
      check(start(static_cast<char*>(transfer.data) + at,
                  static_cast<int>(std::min(most, transfer.bytes - at)), &requests.back()));
    }
  }
  static void check(int code) {
    if (code != MPI_SUCCESS) throw std::runtime_error("MPI reports error " + std::to_string(code));
  }

  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
  std::vector<MPI_Request> requests_ = {}, posted_ = {};
};

}  // namespace chorale
