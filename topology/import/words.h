// Words and numbers of the texts of other tools.
#pragma once

#include <string>
#include <vector>

#include "ir/number_in.h"

namespace chorale {

std::vector<std::string> words_in(const std::string& line);  // between whitespace
std::string lower_case(std::string);
std::string file_name(const std::string& path);  // "dgx.xml", of "files/dgx.xml"

// Slurm's lists of hosts: SLURM_JOB_NODELIST, "tux[0-3,12],gpu7", "r[1-2]n[01-16]".
// https://slurm.schedmd.com/scontrol.html (show hostnames)

// The names, ranges with as many digits as they are written with; at most kMostRanks. Throws InputError,
// which cites `where`. "" has none.
std::vector<std::string> read_host_list(const std::string& text, const std::string& where);

}  // namespace chorale
