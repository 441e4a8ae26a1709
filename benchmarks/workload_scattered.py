"""Optimizers over the tensors of BERT, scattered and in one piece: see workloads.py."""
import pathlib
import re
import statistics
import subprocess

from workload_fabric import SCRIPTS

PAPER = {"adam": 1.02, "lamb": 1.01}

# A list of lengths is laid out tensor by tensor, each an allocation of its own; one length is a tensor that
# is not a list.
MAIN = """
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "{name}.h"
#include "runtime/exchange/threads.h"

namespace {name} = workloads::of_{name};

using Memory = std::vector<std::unique_ptr<float[]>>;
float* fresh(Memory& memory, std::int64_t count) {{
  memory.emplace_back(new float[static_cast<std::size_t>(count)]);
  return memory.back().get();
}}
// Numbers by the index in the whole, so that both have the same ones.
void fill(float* at, std::int64_t first, std::int64_t count, int kind, int rank) {{
  for (std::int64_t i = 0; i < count; ++i)
    at[i] = kind > 1 ? 0.0f : static_cast<float>((first + i) * 7 % 33 - 16 + (kind == 0 ? rank : 0)) / 8;
}}
void make(Memory& memory, chorale::Scattered<float>& tensor, const std::vector<std::int64_t>& lengths, int kind, int rank) {{
  std::vector<std::pair<const float*, std::int64_t>> list;
  std::int64_t first = 0;
  for (const std::int64_t count : lengths) {{
    float* const at = fresh(memory, count);
    fill(at, first, count, kind, rank);
    list.push_back({{at, count}});
    first += count;
  }}
  tensor = chorale::Scattered<float>(list);
}}
template <typename Pointer>
void make(Memory& memory, Pointer& tensor, const std::vector<std::int64_t>& lengths, int kind, int rank) {{
  std::int64_t count = 0;
  for (const std::int64_t each : lengths) count += each;
  float* const at = fresh(memory, count);
  fill(at, 0, count, kind, rank);
  tensor = at;
}}
float at(const chorale::Scattered<float>& tensor, std::int64_t i) {{ return *tensor.run(i).at; }}
float at(const float* tensor, std::int64_t i) {{ return tensor[i]; }}

int main(int argc, char** argv) {{
  const int runs = std::atoi(argv[1]);
  const std::vector<std::int64_t> lengths = {{{lengths}}};
  {name}::Sizes sizes;
  sizes.of_N = 0;
  for (const std::int64_t count : lengths) sizes.of_N += count;
  chorale::on_thread_ranks({name}::kRanks, [&](chorale::ThreadTransport& transport) {{
    const int rank = transport.rank();
    Memory memory;
    {name}::Tensors t;
    make(memory, t.of_g, lengths, 0, rank);
    make(memory, t.of_p, lengths, 1, rank);
    make(memory, t.of_m, {{{name}::elements_m(sizes, rank)}}, 2, rank);
    make(memory, t.of_v, {{{name}::elements_v(sizes, rank)}}, 2, rank);
    t.of_lr = 0.01f;
    t.of_t = 1;
    {name}::Program<chorale::ThreadTransport> program(transport, sizes);
    for (int i = -1; i < runs; ++i) {{
      transport.barrier();
      const auto start = std::chrono::steady_clock::now();
      program.run(t);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      double longest = 0;
      for (const double each : transport.all(took.count())) longest = std::max(longest, each);
      if (rank == 0 && i >= 0) std::printf("ms %.2f\\n", 1e3 * longest);
    }}
    double sum = 0;
    for (std::int64_t i = 0; i < sizes.of_N; i += 1 + sizes.of_N / 100003) sum += at(t.of_p, i);
    if (rank == 0) std::printf("sum %.17g\\n", sum);
  }});
}}
"""


def bert(layers=24, hidden=1024, vocabulary=30522, places=512, types=2):
    """Lengths of all tensors of parameters of BERT as it is trained, with both heads; of BERT-large by
    default."""
    norm = [hidden, hidden]

    def linear(inputs, outputs):
        return [inputs * outputs, outputs]

    embeddings = [vocabulary * hidden, places * hidden, types * hidden, *norm]
    layer = [*3 * linear(hidden, hidden), *linear(hidden, hidden), *norm, *linear(hidden, 4 * hidden), *linear(4 * hidden, hidden), *norm]
    heads = [*linear(hidden, hidden), *linear(hidden, hidden), *norm, vocabulary, *linear(hidden, 2)]  # pooler; masked words (decoder: its bias); next sentence
    return embeddings + layers * layer + heads


def scattered(tools, layers, hidden, ranks, rounds):
    lengths = bert(layers, hidden)
    print(f"BERT's tensors, {layers} layers, {hidden} hidden: {len(lengths)} tensors of {min(lengths)} to {max(lengths)} elements, {sum(lengths)} together, "
          f"float32, {ranks} ranks as threads; fuse(RS-Opt-AG)")
    for name in PAPER:
        example = next(each for each in tools.examples if each.stem == name).read_text()
        folders = {}
        for form in ("one piece", "scattered"):
            folder = folders[form] = tools.work / f"{name}_{form.replace(' ', '_')}"
            text = example
            if form == "scattered":
                text = re.sub(r"(Tensor [gp]\(fp32, \[N\], \w+\))", r"\1 scattered", text)
                assert text.count("scattered") == 2
            source = tools.work / f"{folder.name}.chorale"
            source.write_text(text)
            tools.run(tools.chorale, "compile", source, "--machine", f"ring:{ranks}", "--ranks", ranks, "-o", folder, "--apply",
                      SCRIPTS[name]["fuse(RS-Opt-AG)"])
            (folder / f"{name}_main.cpp").write_text(MAIN.format(name=name, lengths=", ".join(map(str, lengths))))
            tools.run("make", "-s", "threads", cwd=folder)
        times, sums = {form: [] for form in folders}, set()
        for _ in range(rounds):
            for form, folder in folders.items():
                text = tools.run(f"./{name}_threads", 3, cwd=folder)
                times[form].append(min(map(float, re.findall(r"ms ([\d.]+)", text))))
                sums.add(re.search(r"sum (\S+)", text)[1])
        ratios = sorted(a / b for a, b in zip(times["scattered"], times["one piece"]))
        print(f"  {name}: one piece {min(times['one piece']):.1f} ms, scattered {min(times['scattered']):.1f}; scattered takes {min(times['scattered']) / min(times['one piece']):.3f} times "
              f"as long by the shortest of all, {statistics.median(ratios):.3f} by the median of {rounds} rounds ({ratios[0]:.3f} to {ratios[-1]:.3f}), each the best of 3, in turn; "
              f"results {'the same' if len(sums) == 1 else 'DIFFERENT'}; the paper: {PAPER[name]}", flush=True)
        for folder in folders.values():
            subprocess.run(["rm", "-rf", folder])
        if len(sums) != 1:
            return 1
    return 0
