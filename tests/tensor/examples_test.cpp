// The programs in examples/ are read, are what they state, and come back from their text.
#include "tests/tensor/examples.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

namespace chorale::test {
namespace {

TEST(Examples, HaveTheTypesThatTheirCommentsSay) {
  const std::map<std::string, std::string> outputs = {{"sgd", "fp32[N] Replicated"},
                                                      {"adam", "fp32[N] Replicated"},
                                                      {"adam_mixed", "fp16[N] Replicated"},
                                                      {"lamb", "fp32[N] Replicated"},
                                                      {"self_attention", "fp16[B, S, H] Replicated"},
                                                      {"mlp", "fp16[B, S, H] Replicated"},
                                                      {"pipeline", "fp16[B, S, H] Replicated GROUP"},
                                                      {"rms_norm", "bf16[B, S, H] Replicated"},
                                                      {"kv_cache", "fp16[B, h, 1, D] Sliced(1)"},
                                                      {"ring_attention", "fp32[h, S, D] Local"},
                                                      {"rms_norm_fp8", "e4m3[B, S, H] Replicated"},
                                                      {"attention", "fp16[B, S, D*h] Replicated"},
                                                      {"llama", "bf16[B, S, D*h] Replicated"},
                                                      {"swiglu", "bf16[B, S, H] Replicated"},
                                                      {"sequence_parallel", "bf16[B, S, H] Sliced(1)"},
                                                      {"moe_top2", "fp32[T, H] Local"},
                                                      {"moe", "fp16[T, H] Local"}};
  std::size_t found = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(CHORALE_SOURCE) + "/examples")) {
    if (file.path().extension() != ".chorale") continue;
    const std::string name = file.path().stem();
    SCOPED_TRACE(name);
    ASSERT_TRUE(outputs.contains(name));
    ++found;
    const Workload workload = as_written(name);
    EXPECT_EQ(workload.name, name);
    ASSERT_FALSE(workload.outputs.empty());
    EXPECT_EQ(to_string(operation(workload, workload.outputs[0]).type), outputs.at(name));
    EXPECT_EQ(parse_workload(to_text(workload), "printed"), workload);
  }
  EXPECT_EQ(found, outputs.size());
}

// Means and master weights are kept in fp32, whatever the gradients are; what is sent is fp16 on in both
// directions, so that one fused AllReduce can do it.
TEST(Examples, MixedAdamKeepsItsStateInFp32) {
  const Workload adam = as_written("adam_mixed");
  for (const char* name : {"avg", "m_", "v_", "w_"})
    EXPECT_EQ(operation(adam, name).type.element, ElementType::Float32) << name;
  EXPECT_EQ(operation(adam, "sum").type.element, ElementType::Float16);
  EXPECT_EQ(operation(adam, "p_").type.element, ElementType::Float16);
}

// The second group has what the first one sends.
TEST(Examples, PipelineEndsInTheSecondGroup) {
  const Workload pipeline = as_written("pipeline");
  const TensorType& type = operation(pipeline, "output").type;
  EXPECT_EQ(type.first_group, 1);
  EXPECT_EQ(type.last_group, 1);
}

// The page shows a program: it is one.
TEST(Examples, ThatOfThePageIsRead) {
  const std::string page = read_file(std::string(CHORALE_SOURCE) + "/docs/workloads.md");
  const std::size_t begin = page.find("# Adam, data parallel."), end = page.find("```", begin);
  ASSERT_NE(end, std::string::npos);
  const Workload adam = parse_workload(page.substr(begin, end - begin), "docs/workloads.md");
  EXPECT_EQ(to_string(operation(adam, "avg").type), "fp32[N] Replicated");
  EXPECT_EQ(operation(adam, "p_").updates, "p");
}

}  // namespace
}  // namespace chorale::test
