// What goes through the host of one unit (HostPath), in bytes.
#pragma once

#include <vector>

#include "ir/hierarchy.h"

namespace chorale {

struct HostLoad {
  HostLoad(const HostPath& path, int children)
      : host(path),
        up(static_cast<std::size_t>(children / path.uplink.children + 1), 0.0),
        down(up),
        out(static_cast<std::size_t>(children / path.socket.children + 1), 0.0),
        in(out) {}

  // Between two children.
  void send(int from, int to, double bytes) {
    up[from / host.uplink.children] += bytes;
    cross(from / host.socket.children, to / host.socket.children, bytes);
    down[to / host.uplink.children] += bytes;
  }
  // To other units, and from them: by the first socket.
  void leave(int from, double bytes) {
    up[from / host.uplink.children] += bytes;
    cross(from / host.socket.children, 0, bytes);
  }
  void enter(int to, double bytes) {
    cross(0, to / host.socket.children, bytes);
    down[to / host.uplink.children] += bytes;
  }

  const HostPath& host;
  std::vector<double> up, down;  // by uplink
  std::vector<double> out, in;   // by socket, from others and to them

 private:
  void cross(int from, int to, double bytes) {
    if (from == to) return;
    out[from] += bytes;
    in[to] += bytes;
  }
};

}  // namespace chorale
