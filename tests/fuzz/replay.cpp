// The first inputs of all fuzzers, and those that once were findings, without a fuzzer: replay CORPUS.
#include <chrono>
#include <cstdio>
#include <filesystem>

#include "ir/files.h"
#include "ir/json.h"
#include "tests/fuzz/readers.h"

namespace {

struct Row {
  const char* name;  // of its folder
  chorale::fuzz::Reader* run;
};

namespace fuzz = chorale::fuzz;
constexpr Row kReaders[] = {{"block_program", fuzz::block_program},
                            {"collective", fuzz::collective},
                            {"epilogue", fuzz::epilogue},
                            {"hierarchy", fuzz::hierarchy},
                            {"import_hwloc", fuzz::import_machine},
                            {"import_nccl", fuzz::import_machine},
                            {"import_smi", fuzz::import_machine},
                            {"import_wiring", fuzz::import_machine},
                            {"job", fuzz::job},
                            {"msccl_xml", fuzz::msccl_xml},
                            {"mscclpp_plan", fuzz::mscclpp_plan},
                            {"ranking", fuzz::ranking},
                            {"renumbering", fuzz::renumbering},
                            {"result", fuzz::result},
                            {"script", fuzz::script},
                            {"topology", fuzz::topology},
                            {"workload", fuzz::workload}};

}  // namespace

int main(int count, char** arguments) {
  namespace fs = std::filesystem;
  if (count != 2) return std::fprintf(stderr, "usage: replay CORPUS\n"), 2;
  int inputs = 0;
  for (const Row& reader : kReaders) {
    const int before = inputs;
    for (const fs::directory_entry& file : fs::directory_iterator(fs::path(arguments[1]) / reader.name)) {
      const std::string text = chorale::read_file(file.path().string());
      const auto started = std::chrono::steady_clock::now();
      std::printf("%s\n", file.path().c_str());
      std::fflush(stdout);  // what crashes is the last one named
      reader.run(text);
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      if (seconds > 20) return std::fprintf(stderr, "finding: that took %.0f s\n", seconds), 1;
      ++inputs;
    }
    if (inputs == before) return std::fprintf(stderr, "no inputs for %s\n", reader.name), 1;
  }
  std::printf("%d inputs read\n", inputs);
}
