// Emitted workloads give what they mean: printed, compiled, and run on threads and under mpirun, with sizes
// that ranks do not divide. Inputs are small dyadic numbers, so that sums are exact in any order.
#include "tensor/lowering/workload_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "tests/kit/refusal.h"
#include "tests/tensor/emitted_workload.h"

namespace chorale::test {
namespace {

// Broadcasting, halves, integers, selection, reductions, slices; every collective by itself.
const std::string kPlain = R"(
workload plain
ranks 3
size N = 5
size M = 4
Tensor x(fp32, [N, M], Local)
Tensor h(fp16, [N, M], Replicated)
Tensor b(bf16, [M], Replicated)
Tensor c(fp32, [N, 1], Replicated)
Tensor i(int32, [N, M], Replicated)
Tensor q(fp64, [N, M], Sliced(1))
Tensor s(fp32, [N, M], Replicated) state
Scalar f(fp32)
sum = AllReduce("+", x)
top = AllReduce("max", x)
y = sum * h + b - c * f
z = Select(h < 0, i, -i) + 1
rs = ReduceScatter("+", x, 0)
rf = ReduceScatter("min", x, flat)
rd = ReduceScatter("+", x, 1)
g = AllGather(rs * 2 + c)
gf = AllGather(rf)
gd = AllGather(rd + b)
k = ReduceTensor("+", x)
t = ReduceTensor("max", rd)
mixed = q * rd + h
s_ = Update(s, s + y)
r = Reduce("+", x, 1)
br = Broadcast(r * 3 + b)
return y, z, top, rs, rf, g, gf, gd, k, t, mixed, s_, br
)";

TEST(EmittedWorkload, DoesEachOperationByItself) {
  const Workload workload = parsed(kPlain);
  const Emitted threads(workload, 2, false, Carrier::Threads);
  EXPECT_EQ(threads.difference(workload, 1), "");
  // Fewer elements than ranks and pieces, and sides that ranks do not divide.
  EXPECT_EQ(threads.difference(parsed(kPlain, "", {{"N", 1}, {"M", 2}}), 2), "");
  EXPECT_EQ(threads.difference(parsed(kPlain, "", {{"N", 37}, {"M", 23}}), 3), "");
}

// The paper's schedule of Adam: state in slices, and all in one pass over the sums as they become complete.
// Roots and quotients are computed as the reference computes them, so there is nothing to tolerate.
const std::string kFuseAdam =
    "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v);"
    "fuse(update; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)";

TEST(EmittedWorkload, FusesAdam) {
  const std::string adam = text_of_example("adam");
  const auto sized = [&](std::int64_t n) { return parsed(adam, kFuseAdam, {{"N", n}}, 3); };
  for (const bool ring : {true, false}) {
    const Emitted emitted(sized(100), ring ? 1 : 3, ring, ring ? Carrier::Mpi : Carrier::Threads);
    for (const std::int64_t n : {1, 2, 3, 100, 5003})
      EXPECT_EQ(emitted.difference(sized(n), static_cast<unsigned>(n), 1e-6, true), "") << n;
  }
}

// Every example in the schedules that the paper names, and in some that it does not.
struct Case {
  std::string example = {}, script = {};
  Carrier carrier = Carrier::Threads;
  int ranks = 3, chunks = 1;
  double tolerance = 0;
  std::vector<std::map<std::string, std::int64_t>> sizes = {};
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.example << ": " << c.script;
}

class EmittedExample : public testing::TestWithParam<Case> {};

TEST_P(EmittedExample, GivesWhatItMeans) {
  const Case& c = GetParam();
  const std::string text = text_of_example(c.example);
  const auto sized = [&](const auto& sizes) { return parsed(text, c.script, sizes, c.ranks); };
  const Emitted emitted(sized(c.sizes[0]), c.chunks, c.chunks == 1, c.carrier);
  for (unsigned seed = 0; seed < c.sizes.size(); ++seed)
    EXPECT_EQ(emitted.difference(sized(c.sizes[seed]), seed, c.tolerance, true), "") << seed;
}

const std::vector<std::map<std::string, std::int64_t>> kVectors = {
    {{"N", 1}}, {{"N", 2}}, {{"N", 100}}, {{"N", 4099}}};
const std::vector<std::map<std::string, std::int64_t>> kLayers = {
    {{"B", 2}, {"S", 3}, {"H", 6}}, {{"B", 1}, {"S", 1}, {"H", 2}}, {{"B", 2}, {"S", 5}, {"H", 7}}};
// Long enough for several tiles.
const std::vector<std::map<std::string, std::int64_t>> kLong = {{{"B", 3}, {"S", 101}, {"H", 202}}};
const std::vector<std::map<std::string, std::int64_t>> kTokens = {{{"T", 6}, {"H", 4}, {"F", 5}},
                                                                  {{"T", 3}, {"H", 3}, {"F", 1}}};

const std::vector<std::map<std::string, std::int64_t>> kHeads = {{{"B", 2}, {"S", 3}, {"h", 4}, {"D", 2}},
                                                                 {{"B", 1}, {"S", 5}, {"h", 2}, {"D", 3}}};
const std::vector<std::map<std::string, std::int64_t>> kInner = {{{"B", 2}, {"S", 3}, {"H", 4}, {"F", 7}},
                                                                 {{"B", 1}, {"S", 2}, {"H", 5}, {"F", 1}}};
const std::vector<std::map<std::string, std::int64_t>> kExperts = {
    {{"T", 5}, {"H", 3}, {"F", 2}, {"E", 3}, {"C", 15}}, {{"T", 9}, {"H", 4}, {"F", 3}, {"E", 3}, {"C", 7}}};
const std::string kFuseNorm =
    "fuse(k; h, y_1, y_2, y); split(sum, rs, Sliced(1)); reorder(sum; k); fuse(all; rs, s_k, y)";
const std::string kFuseExperts = "fuse(places; place_2, place_3)";
const std::string kFuseNorm8 =
    "fuse(k; h, y_1, y_2, y, scale_1, scale, q); split(sum, rs, Sliced(1)); reorder(sum; k); fuse(all; rs, "
    "s_k)";
const std::vector<std::map<std::string, std::int64_t>> kBlocks = {
    {{"S", 3}, {"h", 2}, {"D", 3}},  // ring_attention
    {{"S", 1}, {"h", 4}, {"D", 2}}};
const std::vector<std::map<std::string, std::int64_t>> kCaches = {
    {{"B", 2}, {"h", 4}, {"D", 3}, {"R", 9}, {"T", 5}}, {{"B", 3}, {"h", 2}, {"D", 1}, {"R", 1}, {"T", 1}}};
const std::string kFuseRing = "fuse(a; s_0, m_0_1); fuse(b; p_0, l_0_1); fuse(c; s_1, m_1_1)";
const std::string kRingBeside = kFuseRing +
                                "; overlap(first; s_0_2, a, m_0, b, o_0_1, block_0); overlap(next; k_1_1, "
                                "k_1_2, k_1, s_1_1, s_1_2, block_1)";
const std::string kFuseAttention = "fuse(norm; n_1, n_2, n); fuse(softmax; p_1, p_2, p_3, p_4, p)";

INSTANTIATE_TEST_SUITE_P(
    Of, EmittedExample,
    testing::Values(
        Case{"sgd", "", Carrier::Threads, 4, 1, 1e-6, kVectors},
        Case{"sgd", "split(sum, r, Rooted(1)); reorder(sum; v_, p_); asSlice(v); fuse(k; r, s_v_, s_p_)",
             Carrier::Mpi, 3, 2, 1e-6, kVectors},
        Case{"adam_mixed",
             "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, w_, p_); asSlice(m); asSlice(v); asSlice(w);"
             "fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_w_, s_p_, p_)",
             Carrier::Mpi, 4, 1, 1e-2, kVectors},
        Case{"lamb", "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, u, p_); asSlice(m); asSlice(v)",
             Carrier::Threads, 3, 2, 1e-5, kVectors},
        Case{"self_attention", "", Carrier::Mpi, 2, 1, 0, kLayers},
        Case{"self_attention",
             "split(sum, rs); reorder(sum; out); fuse(k; rs, s_out, out); overlap(o; layer, k)",
             Carrier::Threads, 3, 1, 0, kLayers},
        Case{"mlp", "split(sum, rs, Sliced(2)); reorder(sum; out); fuse(k; rs, s_out, out)", Carrier::Threads,
             3, 2, 0, kLayers},
        Case{"mlp", "split(sum, rs, Sliced(1)); reorder(sum; out); fuse(k; s_out, out)", Carrier::Threads, 2,
             1, 0, kLayers},
        Case{"pipeline", "", Carrier::Threads, 2, 2, 0, kLayers},
        Case{"pipeline",
             "fuse(k; send, output); split(sum, rs); reorder(sum; k); overlap(all; rs, s_k, output)",
             Carrier::Mpi, 2, 1, 0, kLayers},
        Case{"pipeline",
             "fuse(k; send, output); split(sum, rs); reorder(sum; k); overlap(all; rs, s_k, output)",
             Carrier::Threads, 2, 2, 0, kLong},
        // Kernels as one launch of all ranks, whose blocks read in each other's memory; and step by step over
        // NCCL.
        Case{"adam",
             "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, p_); asSlice(m); asSlice(v);"
             "fuse(update; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_p_, p_)",
             Carrier::Cuda, 3, 2, 1e-6, kVectors},
        Case{"lamb", "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, u, p_); asSlice(m); asSlice(v)",
             Carrier::Cuda, 3, 2, 1e-5, kVectors},
        Case{"pipeline",
             "fuse(k; send, output); split(sum, rs); reorder(sum; k); overlap(all; rs, s_k, output)",
             Carrier::Cuda, 2, 1, 0, kLayers},
        Case{"lamb", "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, u, p_); asSlice(m); asSlice(v)",
             Carrier::Nccl, 3, 2, 1e-5, kVectors},
        Case{"self_attention",
             "split(sum, rs); reorder(sum; out); fuse(k; rs, s_out, out); overlap(o; layer, k)",
             Carrier::Nccl, 3, 1, 0, kLayers},
        Case{"moe", "overlap(o; there, up); overlap(b; down, back)", Carrier::Threads, 3, 1, 0, kTokens},
        Case{"pipeline", "shard(sum, ar, s); reorder(sum; send, output); fuse(c; s_send, s_output)",
             Carrier::Mpi, 2, 1, 0, kLayers},
        // Rows in a kernel, of which sizes at run time are others than those of the types.
        Case{"rms_norm", kFuseNorm, Carrier::Mpi, 3, 2, 2e-2, kLayers},
        Case{"rms_norm", kFuseNorm, Carrier::Cuda, 2, 1, 2e-2, kLayers},
        Case{"rms_norm_fp8", "", Carrier::Threads, 3, 2, 0.13, kLayers},
        Case{"rms_norm_fp8", kFuseNorm8, Carrier::Mpi, 3, 2, 0.13, kLayers},
        Case{"rms_norm_fp8", kFuseNorm8, Carrier::Cuda, 2, 1, 0.13, kLayers},
        Case{"ring_attention", kFuseRing, Carrier::Threads, 4, 1, 1e-5, kBlocks},
        Case{"ring_attention", kFuseRing, Carrier::Nccl, 3, 1, 1e-5, kBlocks},
        // Blocks in transit while others are computed with.
        Case{"ring_attention", kRingBeside, Carrier::Threads, 4, 1, 1e-5, kBlocks},
        Case{"ring_attention", kRingBeside, Carrier::Cuda, 4, 1, 1e-5, {kBlocks[0]}},
        Case{"kv_cache", "", Carrier::Threads, 2, 1, 1e-2, kCaches},
        Case{"attention", kFuseAttention, Carrier::Threads, 2, 1, 1e-2, kHeads},
        Case{"attention", kFuseAttention, Carrier::Nccl, 2, 1, 1e-2, kHeads},
        Case{"swiglu",
             "split(sum, rs, Sliced(2)); reorder(sum; y); fuse(k; rs, s_y, y); overlap(o; layer, k)",
             Carrier::Threads, 3, 1, 2e-2, kInner},
        Case{"sequence_parallel", "overlap(a; whole, up); fuse(k; sum, y); overlap(b; layer, k)",
             Carrier::Threads, 3, 1, 2e-2, kLayers},
        // Rows by counts that every rank computes.
        Case{"moe_top2", "", Carrier::Threads, 3, 1, 1e-5, kExperts},
        Case{"moe_top2", kFuseExperts, Carrier::Cuda, 3, 1, 1e-5, kExperts},
        Case{"moe_top2", kFuseExperts, Carrier::Nccl, 3, 1, 1e-5, kExperts}));

// Slices of columns are gathered in blocks beside the tensor that they update, and read it meanwhile.
const std::string kColumns = R"(
workload columns
ranks 3
size N = 4
size M = 5
Tensor x(fp32, [N, M], Local)
Tensor u(fp32, [N, M], Replicated)
kernel k {
  rs = ReduceScatter("+", x, 1)
  s = 2 * rs + u
  u_ = Update(u, AllGather(s))
}
return u_
)";

TEST(EmittedWorkload, UpdatesBySlicesOfColumns) {
  const Emitted emitted(parsed(kColumns), 2, true, Carrier::Threads);
  for (const std::int64_t m : {1, 5, 33})
    EXPECT_EQ(emitted.difference(parsed(kColumns, "", {{"M", m}}), 1), "") << m;
}

// A kernel goes over a row twice, and the input that is updated is read both times.
const std::string kRowsUpdate = R"(
workload rows_update
ranks 2
size N = 4, M = 5
Tensor u(fp32, [N, M], Replicated)
Tensor x(fp32, [N, M], Sliced(0))
kernel k {
  s = x + u
  v = x - u
  m = ReduceAlong("max", v, 1)
  t = v - m
  u_ = Update(u, AllGather(s))
}
return t
)";

TEST(EmittedWorkload, UpdatesAfterTheLastPassOverARow) {
  const Emitted emitted(parsed(kRowsUpdate), 1, true, Carrier::Threads);
  EXPECT_EQ(emitted.difference(parsed(kRowsUpdate, "", {{"M", 7}}), 1), "");
}

// Gradients and parameters that are lists of tensors; what is read of one lies in several.
const std::string kScattered = R"(
workload scattered
ranks 3
size N = 100
Tensor g(fp32, [N], Local) scattered
Tensor p(fp32, [N], Replicated) scattered
Tensor q(fp16, [N], Replicated) scattered
Tensor m(fp32, [N], Replicated) state
Tensor x(fp32, [2, N], Replicated)
Scalar lr(fp32)
sum = AllReduce("+", g)
m_ = Update(m, 0.5 * m + 0.25 * sum)
p_ = Update(p, p - lr * m_)
y = x * q
n = ReduceTensor("max", q)
all = AllReduce("max", g)
r = Reduce("+", g, 2)
return p_, y, n, all, r
)";

TEST(EmittedWorkload, GoesFromTensorToTensorOfAList) {
  for (const bool fused : {true, false}) {
    const auto sized = [&](std::int64_t n) {
      return parsed(
          kScattered,
          fused ? "split(sum, rs); reorder(sum; m_, p_); asSlice(m); fuse(k; rs, s_m_, s_p_, p_)" : "",
          {{"N", n}}, 3);
    };
    const Emitted emitted(sized(100), 2, fused, fused ? Carrier::Mpi : Carrier::Threads);
    for (const std::int64_t n : {1, 3, 1500, 9001}) EXPECT_EQ(emitted.difference(sized(n), 1), "") << n;
  }
}

// That numbers are right does not report that anything was overlapped.
TEST(EmittedWorkload, ComputesRowsBesideTheCommunicationThatWantsThem) {
  const std::string text =
      header_of(parsed(text_of_example("self_attention"),
                       "split(sum, rs); reorder(sum; out); fuse(k; rs, s_out, out); overlap(o; layer, k)"));
  const std::size_t worker = text.find("worker.start(exchange_rs_.needed());");
  ASSERT_NE(worker, text.npos);
  EXPECT_NE(text.find("exchange_rs_.run(transport_, at_layer, at_rs, loop, worker.demands());", worker),
            text.npos);
}
TEST(EmittedWorkload, ComputesRowsAsTheyArrive) {
  const std::string text = header_of(parsed(text_of_example("moe"), "overlap(o; there, up)"));
  EXPECT_NE(
      text.find(
          "exchange_there_.run(transport_, at_x, at_there, chorale::NoSumFunction(), worker.arrivals());"),
      text.npos);
}
TEST(EmittedWorkload, SendsATileWhileTheNextOneIsAddedUp) {
  const std::string text = header_of(
      parsed(text_of_example("pipeline"),
             "fuse(k; send, output); split(sum, rs); reorder(sum; k); overlap(all; rs, s_k, output)"));
  const std::size_t tiles = text.find("for (int tile = 0; tile < tiles_rs_; ++tile) {");
  ASSERT_NE(tiles, text.npos);
  EXPECT_LT(text.find("device_.send_tile", tiles), text.find("transport_.finish();", tiles));
}

// Slices of 5360 elements, in 5 tiles of 1072, added up 512 at a time.
TEST(EmittedWorkload, IsCarriedOutAsItIsTold) {
  const std::string script =
      "fuse(k; send, output); split(sum, rs); reorder(sum; k); overlap(all; rs, s_k, output)";
  const Workload pipeline = parsed(text_of_example("pipeline"), script, {{"B", 4}, {"S", 80}, {"H", 67}});
  const Emitted emitted(pipeline, 1, true, Carrier::Threads, Build::Quick,
                        {.pieces = {{"all", 5}}, .block = 512}, "-DCHORALE_BLOCK=512");
  const std::string header = read_file(emitted.folder() / "w.h");
  EXPECT_NE(read_file(emitted.folder() / "Makefile").find("-DCHORALE_BLOCK=512 "), std::string::npos);
  EXPECT_NE(header.find("constexpr int kPieces_all = 5;"), header.npos);
  EXPECT_NE(header.find("chorale::tile_count("), header.npos);
  EXPECT_NE(read_file(emitted.folder() / "w.json")
                .find(R"("execution": {"pieces":[{"overlap":"all","pieces":5}],"block":512})"),
            std::string::npos);
  EXPECT_EQ(emitted.difference(pipeline, 3), "");
  EXPECT_EQ(
      emitted.difference(parsed(text_of_example("pipeline"), script, {{"B", 1}, {"S", 2}, {"H", 3}}), 4), "");
}

// Ranks that lend each other memory, and workers beside them, under ThreadSanitizer.
TEST(EmittedWorkload, HasNoRaces) {
  for (const auto& [name, script, sizes] :
       {std::tuple(std::string("adam"), kFuseAdam, kVectors),
        std::tuple(
            std::string("self_attention"),
            std::string("split(sum, rs); reorder(sum; out); fuse(k; rs, s_out, out); overlap(o; layer, k)"),
            kLayers),
        std::tuple(
            std::string("pipeline"),
            std::string(
                "fuse(k; send, output); split(sum, rs); reorder(sum; k); overlap(all; rs, s_k, output)"),
            kLong)}) {
    const int ranks = name == "pipeline" ? 2 : 4;
    const Emitted emitted(parsed(text_of_example(name), script, sizes.back(), ranks), 2, false,
                          Carrier::Threads, Build::Races);
    EXPECT_EQ(emitted.difference(parsed(text_of_example(name), script, sizes.back(), ranks), 7, 1e-6, true),
              "")
        << name;
  }
}

// Blocks of ranks that read in each other's memory, told by numbers alone: all of it under ThreadSanitizer.
// Also where slices of a loop are other ones than those of the AllGather behind it, which is in place.
TEST(EmittedWorkload, HasNoRacesInItsKernels) {
  for (const auto& [name, script, ring] :
       {std::tuple(std::string("adam"), kFuseAdam, true),
        std::tuple(std::string("sgd"),
                   std::string("split(sum, rs); reorder(sum; v_, p_); asSlice(v); fuse(k; s_v_, s_p_, p_)"),
                   false)}) {
    const Workload workload = parsed(text_of_example(name), script, {{"N", 5003}}, 3);
    const Emitted emitted(workload, 2, ring, Carrier::Cuda, Build::Races);
    EXPECT_EQ(emitted.difference(workload, 7, 1e-6, true), "") << name;
  }
}

// A ReduceScatter, what follows it, and an AllGather.
TEST(EmittedWorkload, FusesAKernelIntoOneLaunch) {
  const std::string text = header_of(parsed(text_of_example("adam"), kFuseAdam, {}, 3));
  const std::size_t launch = text.find("device_.run(transport_");
  ASSERT_NE(launch, text.npos);
  EXPECT_NE(text.find("device_.phase(exchange_rs_, at_g, at_rs, loop0),", launch), text.npos);
  EXPECT_NE(text.find("device_.phase(exchange_p__, ", launch), text.npos);
  EXPECT_EQ(text.find("device_.run(transport_", launch + 1), text.npos);
  EXPECT_EQ(text.find(".run(transport_, ", launch + 1), text.npos);
}

// In each struct of a loop, the text of element() and of what it is a part of.
std::string elements_of(const std::string& header) {
  std::string text;
  const std::string begin = "CHORALE_ELEMENT static void element(";
  for (std::size_t at = header.find(begin); at != header.npos; at = header.find(begin, at + 1))
    text += header.substr(at, header.find("\n  }\n", at) - at);
  return text;
}
int occurrences(const std::string& text, const std::string& of) {
  int count = 0;
  for (std::size_t at = text.find(of); at != text.npos; at = text.find(of, at + 1)) ++count;
  return count;
}

// CUDA's powf gives other bits than that of a host's C library: what depends on no element is computed by the
// host, once, as one parameter each, and is not computed with elements.
TEST(EmittedWorkload, ComputesOnceWhatDependsOnNoElement) {
  for (const std::string& script : {std::string(), kFuseAdam}) {
    const std::string text = header_of(parsed(text_of_example("adam"), script, {}, 3));
    ASSERT_NE(elements_of(text).find("chorale::root_of("), text.npos);
    EXPECT_EQ(elements_of(text).find("power("), text.npos) << script;
    EXPECT_EQ(elements_of(text).find("x_t"), text.npos) << script;
    for (const char* base : {"0.9", "0.999"})
      EXPECT_EQ(
          occurrences(text, fmt::format(" = (float(1) - chorale::power(float({}), tensors.of_t));\n", base)),
          1)
          << script;
  }
}

// Scalars of several types, sizes and numbers of ranks, functions of constants alone, in loops, in rows, in
// one value of its own, and the same expression twice; and what looks like it, but reads an element, an index
// or a scalar in memory.
const std::string kOnce = R"(
workload once
ranks 3
size N = 5
size M = 4
Tensor x(fp32, [N, M], Local)
Tensor h(fp16, [N, M], Replicated)
Tensor q(fp64, [N, M], Replicated)
Scalar f(fp32)
Scalar k(fp16)
Scalar i(int32)
Scalar u(fp32) state
sum = AllReduce("+", x)
a = sum * Exp(-f) + Pow(0.5, f * k) * WORLD
b = h * Exp(k / N) + Cast(fp16, f / 3) * Log(2)
c = q * Exp(-f) + Sqrt(i * i + 0.1) - Tanh(i) * Exp(-f)
own = Exp(-f) + RANK * Log(3)
d = h * own + Pow(2, Index(1) * Exp(-f)) + Select(f < k, Log(2), x)
u_ = Update(u, u * Exp(-f) + f)
e = q * Exp(u_)
top = ReduceAlong("max", a, 1)
z = (a - top) * Exp(-f) + Exp(top * Tanh(0.5))
return a, b, c, d, u_, e, z
)";

TEST(EmittedWorkload, GivesTheSameBitsWhereItComputesOnce) {
  for (const std::string& script : {std::string(), std::string("fuse(rows; a, top, z)")}) {
    const Workload workload = parsed(kOnce, script);
    const Emitted emitted(workload, 1, false, Carrier::Threads);
    for (const unsigned seed : {1, 2, 3}) EXPECT_EQ(emitted.difference(workload, seed), "") << script;
  }
}

// The compiler's own report: loops become vectors, and nothing is asked about pointers when they run. Of the
// program alone: what reads its arguments and files has no such loops.
std::string vector_report(const Emitted& emitted) {
  write_file(emitted.folder() / "loops.cpp",
             "#include \"runtime/exchange/threads.h\"\n#include \"w.h\"\n"
             "template class workloads::of_w::Program<chorale::ThreadTransport>;\n");
  int code = 0;
  return run_command(
      fmt::format(
          "cd {} && {} -std=c++17 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -I. "
          "-fopt-info-vec-all -S loops.cpp -o /dev/null",
          emitted.folder().string(), CHORALE_CXX),
      code);
}
std::vector<int> loop_lines(const std::string& text) {
  std::vector<int> lines;
  std::istringstream stream(text);
  int number = 1;
  for (std::string line; std::getline(stream, line); ++number)
    if (line.find("i < count; ++i") != line.npos) lines.push_back(number);
  return lines;
}
// Of the loop in that line, wherever it is instantiated: for one operand, and for two.
bool is_vector(const std::string& report, int line) {
  const std::string at = fmt::format("w.h:{}:[0-9]+: ", line);
  return std::regex_search(report, std::regex(at + "optimized: loop vectorized")) &&
         !std::regex_search(report, std::regex(at + "missed: couldn't vectorize loop"));
}
bool asks_for_aliases(const std::string& report, int line) {
  return std::regex_search(report, std::regex(fmt::format("w.h:{}:.*versioned for vectorization", line)));
}

TEST(EmittedWorkload, HasLoopsThatAreVectors) {
  const std::string script =
      "split(sum, rs); reorder(sum; avg, m_, v_, m1, v1, w_, p_); asSlice(m); asSlice(v);"
      "asSlice(w); fuse(k; rs, s_avg, s_m_, s_v_, s_m1, s_v1, s_w_, s_p_, p_)";
  const Emitted emitted(parsed(text_of_example("adam_mixed"), script, {}, 2), 1, false, Carrier::Threads,
                        Build::None);
  const std::string header = read_file(emitted.folder() / "w.h"), report = vector_report(emitted);
  ASSERT_EQ(loop_lines(header).size(), 1);
  const int line = loop_lines(header)[0];
  EXPECT_TRUE(is_vector(report, line));
  EXPECT_FALSE(asks_for_aliases(report, line));
  // Without what is reported of the pointers it is seen.
  write_file(emitted.folder() / "w.h", std::regex_replace(header, std::regex("__restrict__"), ""));
  const std::string without = vector_report(emitted);
  EXPECT_TRUE(!is_vector(without, line) || asks_for_aliases(without, line));
}

TEST(EmittedWorkload, SaysWhatIsWrongWithItsSizes) {
  const Emitted emitted(parsed(text_of_example("moe"), "", kTokens[0], 3), 1, false, Carrier::Threads);
  int code = 0;
  EXPECT_THAT(emitted.run("T=4 --runs 0", code),
              testing::HasSubstr("w: there: T must be divisible by the 3 ranks"));
  EXPECT_NE(code, 0);
  EXPECT_THAT(emitted.run("H=0", code), testing::HasSubstr("w: size H must be at least 1"));
  EXPECT_THAT(emitted.run("X=3", code), testing::HasSubstr("X is not a size of moe"));
}

// A view is read in the memory of its tensor, from its first element on and this many: by loops that reduce
// it, products, messages and kernels. x, y and z have other maxima and sums in every slice; a rank has an
// empty one where there are fewer elements than ranks.
const std::string kViews = R"(
workload views
ranks 3
groups 2
size N = 5
size M = 4
Tensor x(fp32, [N, M], Replicated)
Tensor y(fp16, [N, M], Local GROUP)
Tensor z(bf16, [M], Sliced(0))
Tensor b(fp32, [M, 2], Replicated)
Tensor i(int32, [N, M], Replicated GROUP)
Tensor g(fp32, [N, M], Local)
rows = Slice(x, 0)
columns = Slice(x, 1)
cells = Slice(x, flat)
of_rows = ReduceTensor("+", rows)
of_columns = ReduceTensor("max", columns)
of_cells = ReduceTensor("min", cells)
sum = AllReduce("+", of_rows)
product = MatMul(rows, b)
back = AllGather(cells)
gathered = AllGather(z)
part = Slice(gathered)
of_part = ReduceTensor("min", part)
total = AllReduce("+", y)
cut = Slice(total, 1)
most = AllReduce("max", ReduceTensor("max", cut))
whole = Slice(i, 0)
sent = Send(whole, GROUP + 1)
of_whole = ReduceTensor("+", whole)
rs = ReduceScatter("+", g, flat)
kernel k {
  both = cells * rs
  of_both = ReduceTensor("+", both)
}
return of_rows, of_columns, of_cells, sum, product, back, of_part, most, sent, of_whole, of_both
)";

TEST(EmittedWorkload, ReadsViews) {
  const Workload workload = parsed(kViews);
  for (const Carrier carrier : {Carrier::Threads, Carrier::Mpi, Carrier::Cuda, Carrier::Nccl}) {
    const Emitted emitted(workload, 2, false, carrier);
    EXPECT_EQ(emitted.difference(workload, 1), "");
    EXPECT_EQ(emitted.difference(parsed(kViews, "", {{"N", 1}, {"M", 2}}), 2), "");
    if (carrier != Carrier::Threads) continue;
    EXPECT_EQ(emitted.difference(parsed(kViews, "", {{"N", 37}, {"M", 23}}), 3), "");
  }
}

// Tile by tile, and rows of a product as the AllGather needs them: sizes that make several tiles.
TEST(EmittedWorkload, ReadsViewsTileByTile) {
  for (const auto& [type, carrier] :
       {std::pair("fp32", Carrier::Threads), std::pair("fp16", Carrier::Cuda)}) {
    const Workload workload = parsed(std::regex_replace(std::string(R"(
workload tiles
ranks 3
groups 2
size N = 50021
size M = 301
Tensor x(TYPE, [N], Local GROUP)
Tensor u(TYPE, [N], Replicated GROUP)
Tensor y(TYPE, [M, 5], Replicated)
Tensor b(TYPE, [5, 3], Replicated)
v = Slice(u)
rows = Slice(y, 0)
overlap o {
  rs = ReduceScatter("+", x, flat)
  kernel c {
    s = rs + v
    sent = Send(s, GROUP + 1)
  }
  back = AllGather(sent)
}
overlap p {
  product = MatMul(rows, b)
  whole = AllGather(product)
}
greatest = ReduceTensor("max", v)
return back, whole, greatest
)"),
                                                        std::regex("TYPE"), type));
    EXPECT_EQ(Emitted(workload, 2, false, carrier).difference(workload, 1, 0, true), "") << type;
  }
}

// What is documented makes a reduction of a slice from a program that has none, in every layout.
TEST(EmittedWorkload, ReducesTheSliceThatReorderMakes) {
  const std::string text = R"(
workload total
ranks 3
size N = 5
Tensor g(fp32, [N, 3], Local)
Tensor p(fp32, [N, 3], Replicated) state
sum = AllReduce("+", g)
total = ReduceTensor("+", p)
p_ = Update(p, p - sum * total)
return p_
)";
  for (const std::string part : {"flat", "Sliced(0)", "Sliced(1)"}) {
    const std::string script =
        fmt::format("split(sum, rs{}); reorder(sum; total, p_)", part == "flat" ? "" : ", " + part);
    const Workload workload = parsed(text, script);
    ASSERT_TRUE(std::ranges::any_of(workload.operations, [&](const Operation& op) {
      return op.kind == OperationKind::ReduceTensor && op.type.layout.kind == LayoutKind::Local;
    })) << to_text(workload);
    EXPECT_EQ(Emitted(workload, 1, true, Carrier::Threads).difference(workload, 1), "") << part;
  }
}

// Each in a folder with headers of its own, which are other files, and newer ones.
TEST(EmittedWorkload, GoesBesideAnotherOneInOneTranslationUnit) {
  Folder folder;
  for (const std::string name : {"adam", "lamb"}) {
    const Workload workload = parsed(text_of_example(name), "", {}, 2);
    for (NamedText file : to_workload_sources(workload, some_algorithms(workload, 1, true)).or_throw()) {
      if (file.path.starts_with("runtime/")) file.text += fmt::format("// Of {}.\n", name);
      file.path = folder.path() / name / file.path;
      write_files({file});
    }
  }
  write_file(
      folder.path() / "both.cpp",
      "#include \"adam/adam.h\"\n#include \"adam/runtime/exchange/threads.h\"\n#include \"lamb/lamb.h\"\n"
      "#include \"lamb/runtime/exchange/threads.h\"\n"
      "template class workloads::of_adam::Program<chorale::ThreadTransport>;\n"
      "template class workloads::of_lamb::Program<chorale::ThreadTransport>;\nint main() {}\n");
  int code = 0;
  EXPECT_EQ(run_command(fmt::format("cd {} && {} -Iadam both.cpp -o both -pthread", folder.path().string(),
                                    compiler_for(Carrier::Threads, Build::Quick)),
                        code),
            "");
  EXPECT_EQ(code, 0);
}

TEST(EmittedWorkload, SaysWhatIsWrongWithItsInputs) {
  const Workload workload = parsed(text_of_example("sgd"), "", {{"N", 5}}, 2);
  const Emitted emitted(workload, 1, true, Carrier::Threads);
  ASSERT_EQ(emitted.difference(workload, 1), "");
  const std::filesystem::path g = emitted.folder() / "in" / "g.1";
  const std::string whole = read_file(g);
  int code = 0;
  const auto message = [&](const std::string& contents) {
    write_file(g, contents);
    return emitted.run("N=5 --runs 0 --in in", code);
  };
  const std::string right = message(whole);
  EXPECT_EQ(code, 0) << right;
  EXPECT_THAT(message(whole + "x"), testing::HasSubstr("g.1 is longer than the"));
  EXPECT_NE(code, 0);
  EXPECT_THAT(message(whole.substr(1)), testing::HasSubstr("g.1 cannot be read"));
  EXPECT_NE(code, 0);
}

TEST(EmittedWorkload, IsRefusedWithoutAnAlgorithmThatDoesWhatItNeeds) {
  const Workload workload = parsed(text_of_example("adam"), kFuseAdam, {}, 3);
  std::vector<WorkloadAlgorithm> algorithms = some_algorithms(workload, 1, true);
  const auto message = [&] {
    return test::refusal_of([&] { to_workload_sources(workload, algorithms).or_throw(); }, "none");
  };
  std::swap(algorithms[0].operation, algorithms[1].operation);
  EXPECT_THAT(message(), testing::HasSubstr("its algorithm"));
  algorithms.pop_back();
  EXPECT_THAT(message(), testing::HasSubstr("has no algorithm; give it one for"));
}

}  // namespace
}  // namespace chorale::test
