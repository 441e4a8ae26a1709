// The rates that NCCL and RCCL assume for links: GB/s in each direction, by their own tables (below the line
// rate, since protocols cost some).
#pragma once

#include <string>

namespace chorale {

double nvlink_gbs(int sm);                // of one NVLink of a GPU of compute capability sm (70: V100)
double xgmi_gbs(const std::string& gcn);  // of one link of xGMI: "906", "gfx90a"
// Between two CPUs.
double socket_gbs(const std::string& arch, const std::string& vendor, int family, int model);

}  // namespace chorale
