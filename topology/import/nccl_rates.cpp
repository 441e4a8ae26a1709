#include "topology/import/nccl_rates.h"

namespace chorale {

// By generation: Blackwell 100, Hopper 90, Ampere 80 and 86, Volta 70, Pascal 60.
double nvlink_gbs(int sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  if (sm == 86) return 12;
  if (sm >= 70) return 20;
  return 18;
}

// Older dumps have the architecture as a number in which 910 is gfx90a.
double xgmi_gbs(const std::string& gcn) {
  if (gcn.starts_with("gfx94") || gcn.starts_with("gfx95") || gcn.starts_with("94") || gcn.starts_with("95"))
    return 48;
  if (gcn.starts_with("gfx90a") || gcn == "910") return 36;
  return 24;
}

double socket_gbs(const std::string& arch, const std::string& vendor, int family, int model) {
  if (arch == "ppc64") return 32;
  if (arch == "arm64") return 6;
  if (vendor == "AuthenticAMD") return 16;
  if (vendor == "GenuineIntel" && family == 6) {
    if (model >= 0xCF) return 40;  // Emerald Rapids
    if (model >= 0x8F) return 22;  // Sapphire Rapids
    if (model >= 0x55) return 10;  // Skylake
  }
  return 6;
}

}  // namespace chorale
