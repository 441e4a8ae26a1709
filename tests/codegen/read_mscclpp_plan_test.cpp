// What the operations of a plan become, and which plans are right. The sample plans of MSCCL++ are data
// beside the tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "codegen/mscclpp/plan.h"
#include "codegen/mscclpp/read_plan.h"
#include "tests/codegen/passes_alone.h"
#include "tests/codegen/schedules.h"
#include "tests/faults.h"
#include "tests/kit/refusal.h"
#include "tests/semantics/machines.h"

namespace chorale {
namespace {

using Json = nlohmann::json;
using test::is;
using test::Kind;
using test::says;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

MscclppFile read_plan(const Json& plan) {
  return mscclpp_from_json(plan.dump(), "plan");
}

std::vector<Fault> faults(const Json& plan, bool relaxed_orders = false) {
  const MscclppFile file = read_plan(plan);
  return violations(file.collective, file.program,
                    {.relaxed_orders = relaxed_orders, .packets = file.packets, .proxies = file.proxies}, 1);
}

std::string refusal(const Json& plan) {
  return test::refusal_of([&] { read_plan(plan); });
}

std::vector<std::string> texts(const PeerBlock& block) {
  std::vector<std::string> result;
  for (const PeerInstruction& i : block.instructions) result.push_back(to_string(i));
  return result;
}

Json local(const char* type, int index, int size = 1) {
  return {{"type", type}, {"index", index}, {"size", size}};
}
Json remote(int id, int index, int size = 1) {
  return {{"buffer_id", id}, {"index", index}, {"size", size}};
}
Json over_switch(int index, int size = 1) {
  return {{"switch_channel_id", 0}, {"index", index}, {"size", size}};
}
using List = std::vector<Json>;

Json move(const char* name, const List& from, const List& to, const char* type = "memory") {
  return {{"name", name}, {"src_buff", from}, {"dst_buff", to}, {"channel_type", type}};
}
Json talk(const char* name, const std::vector<int>& channels = {0}) {
  return {{"name", name}, {"channel_ids", channels}, {"channel_type", "memory"}};
}
const Json nop = {{"name", "nop"}};

Json threadblock(int id, const List& ops, const std::vector<int>& channels = {0}) {
  return {{"id", id},
          {"ops", ops},
          {"channels", Json::array({{{"channel_type", "memory"}, {"channel_ids", channels}}})},
          {"remote_buffer_refs",
           Json::array({{{"access_channel_type", "memory"}, {"remote_buffer_ids", Json::array({0})}}})}};
}

// Two ranks; each has one channel to the other and one buffer of his.
Json two_ranks(const char* collective, const char* type, int input, int output, int scratch,
               const std::function<List(int)>& blocks_of) {
  Json plan = {{"name", "test"}, {"collective", collective}, {"protocol", "Simple"}, {"inplace", false}};
  for (int n : {0, 1})
    plan["gpus"].push_back(
        {{"id", n},
         {"input_chunks", input},
         {"output_chunks", output},
         {"scratch_chunks", scratch},
         {"threadblocks", blocks_of(n)},
         {"channels", Json::array({{{"channel_type", "memory"}, {"connected_to", Json::array({1 - n})}}})},
         {"remote_buffers",
          Json::array(
              {{{"rank", 1 - n}, {"type", type}, {"access_channel_types", Json::array({"memory"})}}})},
         {"semaphores", Json::array()}});
  return plan;
}

// An Allgather by mailboxes in scratch.
Json mailboxes() {
  return two_ranks("allgather", "s", 1, 2, 1, [](int n) {
    return List({threadblock(
        0, {talk("rlxsignal"), talk("rlxwait"), nop, move("put", {local("i", 0)}, {remote(0, 0)}),
            move("copy", {local("i", 0)}, {local("o", n)}), nop, talk("signal"), talk("wait"), nop,
            move("copy", {local("s", 0)}, {local("o", 1 - n)})})});
  });
}

Json& ops(Json& plan, int n, int b = 0) {
  return plan["gpus"][n]["threadblocks"][b]["ops"];
}

TEST(ReadMscclppPlan, operations_become_instructions) {
  const MscclppFile file = read_plan(mailboxes());
  EXPECT_EQ(file.collective, make_collective("allgather", 2, 1));
  EXPECT_THAT(
      texts(file.program.ranks[0].blocks[0]),
      ElementsAre("raise counter 0 of rank 1 to 1, relaxed", "wait for counter 0 to be 1", "sync",
                  "move rank 0's input[0] to rank 1's scratch[0]",
                  "move rank 0's input[0] to rank 0's output[0]", "sync", "raise counter 0 of rank 1 to 2",
                  "wait for counter 0 to be 2", "sync", "move rank 0's scratch[0] to rank 0's output[1]"));
}

// The handshake at the start reports that the other has finished the launch before, so his mailbox is empty.
TEST(ReadMscclppPlan, a_right_plan_is_right_and_a_plan_without_handshake_is_not) {
  Json plan = mailboxes();
  EXPECT_THAT(faults(plan), IsEmpty());
  for (int n : {0, 1}) ops(plan, n).erase(ops(plan, n).begin(), ops(plan, n).begin() + 3);
  EXPECT_THAT(faults(plan), ElementsAre(is(Kind::Race)));
}

TEST(ReadMscclppPlan, a_missing_nop_is_a_race) {
  for (int k : {2, 5, 8}) {
    Json plan = mailboxes();
    ops(plan, 1).erase(k);
    EXPECT_THAT(faults(plan), Not(IsEmpty())) << k;
  }
}

TEST(ReadMscclppPlan, plans_that_need_relaxed_signals_to_order_data_are_told_apart) {
  Json plan = mailboxes();
  for (int n : {0, 1}) ops(plan, n)[6] = talk("rlxsignal");
  EXPECT_THAT(faults(plan), Not(IsEmpty()));
  EXPECT_THAT(faults(plan, true), IsEmpty());
}

// Ranks list each other twice; the second channel of each meets the second of the other, whatever lies
// between.
TEST(ReadMscclppPlan, the_kth_channel_to_a_peer_meets_his_kth_channel_back) {
  Json plan = mailboxes();
  for (int n : {0, 1}) {
    plan["gpus"][n]["channels"][0]["connected_to"] = {1 - n, 1 - n};
    plan["gpus"][n]["threadblocks"][0]["channels"][0]["channel_ids"] = Json::array({1});
  }
  EXPECT_THAT(faults(plan), IsEmpty());
  // One rank signals its first channel, the other waits for its second: nobody ever signals that.
  plan["gpus"][0]["threadblocks"][0]["channels"][0]["channel_ids"] = Json::array({0});
  EXPECT_THAT(refusal(plan), HasSubstr("waits 2 times in a launch for what is signalled 0 times"));
}

// Block 1 copies on what block 0 has copied. In one rank, an Allgather.
Json one_rank(const List& blocks) {
  return {{"name", "test"},
          {"collective", "allgather"},
          {"protocol", "Simple"},
          {"inplace", false},
          {"gpus", Json::array({{{"id", 0},
                                 {"input_chunks", 1},
                                 {"output_chunks", 1},
                                 {"scratch_chunks", 1},
                                 {"threadblocks", blocks},
                                 {"channels", Json::array()},
                                 {"remote_buffers", Json::array()}}})}};
}
Json alone(int id, const List& ops) {
  return {{"id", id}, {"ops", ops}, {"channels", Json::array()}};
}

TEST(ReadMscclppPlan, barriers_order_blocks_of_a_rank) {
  const Json barrier = {{"name", "barrier"}, {"barrier_id", 3}, {"num_threadblocks", 2}};
  const Json in = move("copy", {local("i", 0)}, {local("s", 0)}),
             out = move("copy", {local("s", 0)}, {local("o", 0)});
  EXPECT_THAT(faults(one_rank({alone(0, {in, barrier}), alone(1, {barrier, out})})), IsEmpty());
  EXPECT_THAT(faults(one_rank({alone(0, {in}), alone(1, {out})})), Not(IsEmpty()));
  EXPECT_THAT(
      refusal(one_rank({alone(0, {in, barrier}), alone(1, {out})})),
      HasSubstr("gpus[0].threadblocks[0].ops[1]: barrier: 1 thread blocks come to it, 2 are awaited"));
}

// Units of 16 MiB take turns in a scratch chunk of 64 MiB, so four fit. A semaphore that starts at four lets
// the first block be four units ahead; at five it would overwrite what the second block has not taken.
TEST(ReadMscclppPlan, units_of_a_pipeline_take_turns_in_reused_scratch) {
  const auto plan = [](int room) {
    const auto pipeline = [](const List& ops) {
      return Json{
          {"name", "pipeline"}, {"iter_context", {{"unit_size", 1 << 24}, {"num_chunks", 1}}}, {"ops", ops}};
    };
    const auto semaphore = [](const char* name, int id) {
      return Json{{"name", name}, {"semaphore_ids", Json::array({id})}};
    };
    Json plan = one_rank(
        {alone(0, {pipeline({semaphore("sem_acquire", 0), nop, move("copy", {local("i", 0)}, {local("s", 0)}),
                             nop, semaphore("sem_release", 1)})}),
         alone(1, {pipeline({semaphore("sem_acquire", 1), nop, move("copy", {local("s", 0)}, {local("o", 0)}),
                             nop, semaphore("sem_release", 0)})})});
    plan["reuse_resources"] = true;
    plan["gpus"][0]["semaphores"] = {{{"init_value", room}}, {{"init_value", 0}}};
    return plan;
  };
  EXPECT_EQ(read_plan(plan(4)).pieces, 6);  // two more than there is room for
  EXPECT_THAT(faults(plan(4)), IsEmpty());
  EXPECT_THAT(faults(plan(5)), ElementsAre(is(Kind::Race)));
  EXPECT_THAT(faults(plan(0)), ElementsAre(is(Kind::Deadlock)));
}

// A group of two blocks: each moves half of the chunk, so halves are chunks.
TEST(ReadMscclppPlan, parts_of_groups_are_chunks) {
  const auto part = [](const char* from, const char* to, int k) {
    Json op = move("copy", {local(from, 0)}, {local(to, 0)});
    op["tbg_info"] = {{"tb_id", k}, {"tbg_size", 2}};
    return op;
  };
  const MscclppFile file =
      read_plan(one_rank({alone(0, {part("i", "o", 0)}), alone(1, {part("i", "o", 1)})}));
  EXPECT_EQ(file.pieces, 2);
  EXPECT_THAT(texts(file.program.ranks[0].blocks[1]),
              ElementsAre("move rank 0's input[1] to rank 0's output[1]"));
  EXPECT_THAT(violations(file.collective, file.program), IsEmpty());
  EXPECT_THAT(faults(one_rank({alone(0, {part("i", "o", 0)}), alone(1, {part("i", "o", 0)})})),
              Not(IsEmpty()));
}

// Packets wait for themselves, and a packet of this launch reports that its sender has finished the last one:
// with two halves of scratch no more is needed.
TEST(ReadMscclppPlan, packets_need_two_halves_of_scratch_and_an_answer) {
  Json plan = two_ranks("allgather", "s", 1, 2, 1, [](int n) {
    return List({threadblock(
        0, {move("ppkt", {local("i", 0)}, {remote(0, 0)}), move("upkt", {local("s", 0)}, {local("o", 1 - n)}),
            move("copy", {local("i", 0)}, {local("o", n)})})});
  });
  EXPECT_THAT(refusal(plan), HasSubstr("packets need twice the scratch"));
  plan["protocol"] = "LL";
  EXPECT_THAT(faults(plan), Not(IsEmpty()));
  plan["use_double_scratch_buffer"] = true;
  EXPECT_THAT(faults(plan), IsEmpty());
  // A Broadcast: nobody answers, so rank 0 may be two launches ahead.
  plan["collective"] = "broadcast";
  for (int n : {0, 1}) plan["gpus"][n]["output_chunks"] = 1;
  plan["gpus"][1]["input_chunks"] = 0;
  ops(plan, 0) =
      List{move("ppkt", {local("i", 0)}, {remote(0, 0)}), move("copy", {local("i", 0)}, {local("o", 0)})};
  ops(plan, 1) = List{move("upkt", {local("s", 0)}, {local("o", 0)})};
  EXPECT_THAT(faults(plan),
              ElementsAre(says(Kind::Race, "launch 2: writes rank 1's scratch[0], and nothing orders")));
}

// AllReduce in place of two ranks: each adds up one half and returns it. What the answer was made of has been
// read, also for the next launch; where the answer does not depend on it, nothing shows that it was read.
Json two_phases(const char* channel) {
  Json plan = two_ranks("allreduce", "s", 2, 2, 4, [&](int n) {
    return List{threadblock(
        0, {move("ppkt", {local("i", 1 - n)}, {remote(0, n)}, channel),
            move("respkt", {local("i", n), local("s", 1 - n)}, {local("i", n), remote(0, 2 + n)}, channel),
            nop, move("upkt", {local("s", 3 - n)}, {local("i", 1 - n)})})};
  });
  plan["protocol"] = "LL";
  plan["inplace"] = true;
  for (Json& gpu : plan["gpus"]) {
    gpu["channels"][0]["channel_type"] = channel;
    gpu["threadblocks"][0]["channels"][0]["channel_type"] = channel;
    gpu["threadblocks"][0]["remote_buffer_refs"][0]["access_channel_type"] = channel;
  }
  return plan;
}

TEST(ReadMscclppPlan, what_packets_show_is_known_in_the_next_launch) {
  Json plan = two_phases("memory");
  EXPECT_THAT(faults(plan), IsEmpty());
  // A broadcast of one rank's chunk with an answer that was there before.
  plan["gpus"][0]["threadblocks"][0]["ops"][1]["src_buff"].erase(1);
  EXPECT_THAT(faults(plan), Not(IsEmpty()));
}

// Whatever channel a sum states, the executor takes its buffers from those of memory channels: without any
// it is refused, and with them it stores there. A put over the port after a sum at home is right, and wrong
// where the sum leaves its packet out.
TEST(ReadMscclppPlan, sums_reach_peers_over_memory_channels_alone) {
  Json plan = two_phases("port");
  EXPECT_THAT(refusal(plan), HasSubstr("ppkt: over a port channel the executor takes its source for packets; "
                                       "use cpkt, rppkt"));
  Json both = plan, apart = plan, alone = plan;
  ops(alone, 0).erase(ops(alone, 0).begin());
  EXPECT_THAT(refusal(alone), HasSubstr("respkt: the executor takes buffers of memory channels here, and the "
                                        "thread block has none; put the result over the port channel"));
  for (int n : {0, 1}) {
    Json& refs = both["gpus"][n]["threadblocks"][0]["remote_buffer_refs"];
    refs.push_back(refs[0]);
    refs[1]["access_channel_type"] = "memory";
    Json& list = ops(apart, n);
    list[0] = move("cpkt", {local("i", 1 - n)}, {local("s", 4 + n)});
    const Json send = move("rppkt", {local("s", 4 + n)}, {remote(0, n)}, "port"),
               sum = move("recpkt", {local("i", n), local("s", 1 - n)}, {local("i", n), local("s", 6 + n)}),
               back = move("rppkt", {local("s", 6 + n)}, {remote(0, 2 + n)}, "port");
    list[1] = send;
    list.insert(list.begin() + 2, sum);
    list.insert(list.begin() + 3, back);
    apart["gpus"][n]["scratch_chunks"] = 8;
  }
  for (int n : {0, 1}) ops(both, n)[0]["channel_type"] = "memory";
  EXPECT_THAT(read_plan(both).notes, SizeIs(1));  // respkt is not so in the executor
  EXPECT_THAT(faults(both), IsEmpty());
  EXPECT_THAT(faults(apart), IsEmpty());
  alone = apart;
  ops(alone, 0)[2]["src_buff"].erase(1);
  EXPECT_THAT(faults(alone), Not(IsEmpty()));
}

// Each rank puts its chunk into the other's output by a proxy. The handshake says that the output may be
// written, the signal after the put that it has been.
Json put_by_proxies(const char* last) {
  Json plan = two_ranks("allgather", "o", 1, 2, 1, [&](int n) {
    Json handshake = talk("signal"), await = talk("wait"),
         send = move("put", {local("i", 0)}, {remote(0, n)}, "port");
    send["channel_ids"] = {0};
    for (Json* op : {&handshake, &await}) (*op)["channel_type"] = "port";
    List ops = {handshake, await, nop, send, handshake, move("copy", {local("i", 0)}, {local("o", n)}),
                await};
    if (last != std::string("signal")) {
      ops[3]["name"] = last;
      ops.erase(ops.begin() + 4);
    }
    return List{threadblock(0, ops)};
  });
  for (Json& gpu : plan["gpus"]) {
    gpu["channels"][0]["channel_type"] = "port";
    gpu["threadblocks"][0]["channels"][0]["channel_type"] = "port";
    gpu["threadblocks"][0]["remote_buffer_refs"][0]["access_channel_type"] = "port";
  }
  return plan;
}

// Nothing says that the proxy has read the input when the launch ends but a flush, or an answer.
TEST(ReadMscclppPlan, a_proxy_reads_later_than_it_is_asked) {
  EXPECT_THAT(faults(put_by_proxies("pwsf")), IsEmpty());
  for (const char* last : {"signal", "pws"}) {
    EXPECT_THAT(faults(put_by_proxies(last)), Not(IsEmpty())) << last;
    Json answered = put_by_proxies(last);
    for (int n : {0, 1}) {
      Json answer = ops(answered, n)[0], await = ops(answered, n)[1];
      ops(answered, n).insert(ops(answered, n).end(), {nop, answer, await});
    }
    EXPECT_THAT(faults(answered), IsEmpty()) << last;
  }
  Json flushed = put_by_proxies("signal");
  for (int n : {0, 1}) {
    Json flush = ops(flushed, n)[0];
    flush["name"] = "flush";
    ops(flushed, n).push_back(flush);
  }
  EXPECT_THAT(faults(flushed), IsEmpty());
  EXPECT_THAT(read_plan(flushed).notes, SizeIs(1));
  Json early = put_by_proxies("pwsf");  // without the handshake outputs are written before they may be
  for (int n : {0, 1}) ops(early, n).erase(ops(early, n).begin(), ops(early, n).begin() + 3);
  EXPECT_THAT(faults(early), Not(IsEmpty()));
}

// "sendrecv" is known: the next rank has the input. "custom" is what the user promises, in chunks of the
// file.
TEST(ReadMscclppPlan, a_collective_without_a_name_is_promised) {
  Json plan = put_by_proxies("pwsf");
  plan["collective"] = "sendrecv";
  for (int n : {0, 1}) {
    plan["gpus"][n]["output_chunks"] = 1;
    ops(plan, n)[3]["dst_buff"][0]["index"] = 0;
    ops(plan, n).erase(4);
  }
  EXPECT_THAT(faults(plan), IsEmpty());
  Json other = plan;
  ops(other, 1)[3]["src_buff"][0]["type"] = "s";
  EXPECT_THAT(faults(other), Not(IsEmpty()));
  plan["collective"] = "custom";
  EXPECT_THAT(refusal(plan), HasSubstr("state what it promises: --collective FILE"));
  const Collective swap{
      .custom_name = "swap", .ranks = 2, .chunks = {{.pre = {0}, .post = {1}}, {.pre = {1}, .post = {0}}}};
  const auto promised = [&](const Collective& what) {
    const MscclppFile file = mscclpp_from_json(plan.dump(), "plan", 64, [&](int) { return what; });
    return violations(file.collective, file.program, {.packets = file.packets, .proxies = file.proxies}, 1);
  };
  EXPECT_THAT(promised(swap), IsEmpty());
  Collective stays = swap;
  std::swap(stays.chunks[0].post, stays.chunks[1].post);
  EXPECT_THAT(promised(stays), Not(IsEmpty()));
}

// Between groups of 2^k ranks; three are no such group, and then the next rank is meant.
TEST(ReadMscclppPlan, sendrecv_is_between_groups_as_channels_lead) {
  const auto between = [](int ranks, int step) {
    Json pair = put_by_proxies("pwsf"), plan = pair;
    plan["collective"] = "sendrecv";
    plan["gpus"] = Json::array();
    for (Rank n = 0; n < ranks; ++n) {
      Json gpu = pair["gpus"][0];
      const Rank next = (n + step) % ranks;
      gpu["id"] = n;
      gpu["output_chunks"] = 1;
      gpu["channels"][0]["connected_to"] = {next};
      gpu["remote_buffers"][0]["rank"] = next;
      Json& list = gpu["threadblocks"][0]["ops"];
      list[3]["dst_buff"][0]["index"] = 0;
      list.erase(4);
      plan["gpus"].push_back(gpu);
    }
    return plan;
  };
  for (const auto& [ranks, step] : {std::pair{2, 1}, {4, 2}, {8, 4}}) {
    EXPECT_THAT(faults(between(ranks, step)), IsEmpty()) << ranks;
    EXPECT_THAT(read_plan(between(ranks, step)).notes, SizeIs(step > 1 ? 1 : 0)) << ranks;
  }
  EXPECT_THAT(faults(between(6, 3)), Not(IsEmpty()));
  Json lost = between(4, 2);  // rank 0 puts nothing, and signals still
  lost["gpus"][0]["threadblocks"][0]["ops"][3] = lost["gpus"][0]["threadblocks"][0]["ops"][0];
  EXPECT_THAT(faults(lost), Not(IsEmpty()));
}

// A packet is made at home and stored at all others by the switch; over a port it is put with its flag.
TEST(ReadMscclppPlan, packets_go_over_switches_and_ports) {
  Json plan = two_ranks("allgather", "s", 1, 2, 2, [](int n) {
    return List{threadblock(
        0, {move("cpkt", {local("i", 0)}, {local("s", n)}),
            move("gstorepkt", {local("s", n)}, {over_switch(n)}, "switch"),
            move("upkt", {local("s", 0)}, {local("o", 0)}), move("upkt", {local("s", 1)}, {local("o", 1)})})};
  });
  plan["protocol"] = "LL";
  plan["use_double_scratch_buffer"] = true;
  Json over_port = plan, without = plan;
  for (int n : {0, 1}) {
    plan["gpus"][n]["channels"].push_back({{"channel_type", "switch"},
                                           {"buffer_type", "s"},
                                           {"rank_groups", Json::array({{{"size", 2}, {"ranks", {0, 1}}}})}});
    plan["gpus"][n]["threadblocks"][0]["channels"].push_back(
        {{"channel_type", "switch"}, {"channel_ids", Json::array({0})}});
    Json& gpu = over_port["gpus"][n];
    gpu["channels"][0]["channel_type"] = "port";
    gpu["threadblocks"][0]["channels"][0]["channel_type"] = "port";
    gpu["threadblocks"][0]["remote_buffer_refs"][0]["access_channel_type"] = "port";
    ops(over_port, n)[1] = move("rppkt", {local("s", n)}, {remote(0, n)}, "port");
    ops(over_port, n)[1]["channel_ids"] = {0};
  }
  EXPECT_THAT(faults(plan), IsEmpty());
  EXPECT_THAT(faults(over_port), IsEmpty());
  over_port["use_double_scratch_buffer"] = false;
  EXPECT_THAT(faults(over_port),
              Not(IsEmpty()));  // the next launch's packet may come before this one's is read
  ops(plan, 0)[1]["dst_buff"][0]["index"] = 1;
  EXPECT_THAT(refusal(plan) + (refusal(plan).empty() ? faults(plan)[0].words : ""), Not(IsEmpty()));
}

// Packets order themselves, not other data of the block that sends them.
TEST(ReadMscclppPlan, packets_hand_on_nothing_but_themselves) {
  Json plan = two_ranks("allgather", "i", 2, 4, 1, [](int) { return List{threadblock(0, {nop})}; });
  plan["protocol"] = "LL";
  plan["use_double_scratch_buffer"] = true;
  for (int n : {0, 1}) {
    plan["gpus"][n]["remote_buffers"] = {
        {{"rank", 1 - n}, {"type", "s"}, {"access_channel_types", Json::array({"memory"})}},
        {{"rank", 1 - n}, {"type", "o"}, {"access_channel_types", Json::array({"memory"})}}};
    plan["gpus"][n]["threadblocks"][0]["remote_buffer_refs"][0]["remote_buffer_ids"] = {0, 1};
    // The second chunk is put, and the packet of the first comes after it.
    ops(plan, n) = List{talk("rlxsignal"),
                        talk("rlxwait"),
                        nop,
                        move("put", {local("i", 1)}, {remote(1, 2 * n + 1)}),
                        nop,
                        move("ppkt", {local("i", 0)}, {remote(0, 0)}),
                        move("upkt", {local("s", 0)}, {local("o", 2 * (1 - n))}),
                        move("copy", {local("i", 0, 2)}, {local("o", 2 * n, 2)})};
  }
  EXPECT_THAT(faults(plan), ElementsAre(says(Kind::Race, "the user of rank")));
  for (int n : {0, 1}) {
    ops(plan, n).push_back(talk("signal"));
    ops(plan, n).push_back(talk("wait"));
  }
  EXPECT_THAT(faults(plan), IsEmpty());
}

// In place, both ranks of a switch: each adds up one chunk of all and stores it at all.
TEST(ReadMscclppPlan, a_switch_channel_moves_from_and_to_its_group) {
  Json plan = two_ranks("allreduce", "i", 2, 2, 0, [](int n) {
    return List({threadblock(0, {talk("rlxsignal"), talk("rlxwait"), nop,
                                 move("glres", {over_switch(n)}, {over_switch(n)}, "switch"), nop,
                                 talk("signal"), talk("wait")})});
  });
  plan["inplace"] = true;
  for (int n : {0, 1}) {
    plan["gpus"][n]["channels"].push_back({{"channel_type", "switch"},
                                           {"buffer_type", "i"},
                                           {"rank_groups", Json::array({{{"size", 2}, {"ranks", {0, 1}}}})}});
    plan["gpus"][n]["threadblocks"][0]["channels"].push_back(
        {{"channel_type", "switch"}, {"channel_ids", Json::array({0})}});
  }
  EXPECT_EQ(to_string(read_plan(plan).program.ranks[1].blocks[0].instructions[3]),
            "move team 0's input[1] to team 0's input[1]");
  EXPECT_EQ(read_plan(plan).program.teams, (Teams{{0, 1}}));
  EXPECT_THAT(faults(plan), IsEmpty());
  plan["gpus"][1]["channels"][1]["rank_groups"][0]["ranks"] = Json::array({0});
  EXPECT_THAT(refusal(plan), HasSubstr("rank 1 is not of its own group"));
}

TEST(ReadMscclppPlan, what_cannot_be_understood_is_refused_with_its_place) {
  const auto refused = [](const std::function<void(Json&)>& change) {
    Json plan = mailboxes();
    change(plan);
    return refusal(plan);
  };
  const auto op = [&](const Json& op) { return refused([&](Json& plan) { ops(plan, 1)[3] = op; }); };
  const Json put = mailboxes()["gpus"][0]["threadblocks"][0]["ops"][3];
  EXPECT_EQ(op({{"name", "fly"}}),
            "plan: gpus[1].threadblocks[0].ops[3]: fly: is not an operation that is understood here");
  EXPECT_THAT(op(move("pwsf", {local("i", 0)}, {remote(0, 0)})), HasSubstr("is for port channels"));
  EXPECT_THAT(op(talk("flush")), HasSubstr("is for port channels"));
  EXPECT_THAT(op(move("put", {local("i", 0)}, {remote(0, 0)}, "port")), HasSubstr("out of range"));
  EXPECT_THAT(op(move("put", {local("i", 0)}, {remote(1, 0)})), HasSubstr("buffer_id: 1 is out of range"));
  EXPECT_THAT(op(move("put", {local("x", 0)}, {remote(0, 0)})), HasSubstr("'x' is not a buffer"));
  EXPECT_THAT(op(move("put", {local("i", 0)}, {remote(0, 0, 2)})), HasSubstr("1 chunks and 2 chunks"));
  EXPECT_THAT(op(move("put", {local("i", 0), local("i", 0)}, {remote(0, 0)})),
              HasSubstr("2 sources, 1 dest"));
  EXPECT_THAT(op(move("copy", {local("i", 0), local("i", 0)}, {local("s", 0)})), HasSubstr("with 2 buffers"));
  EXPECT_THAT(op(move("copy", Json::array(), {local("s", 0)})), HasSubstr("with 0 buffers"));
  EXPECT_THAT(op(move("get", {remote(0, 0)}, {local("o", 1)})), HasSubstr("exchanges the indices"));
  EXPECT_THAT(op(talk("signal", {1})), HasSubstr("channel_ids[0]: 1 is out of range"));
  EXPECT_THAT(op(talk("signal", std::vector<int>(9, 0))), HasSubstr("room for 8"));
  EXPECT_THAT(op({{"name", "sem_acquire"}, {"semaphore_ids", Json::array({0})}}), HasSubstr("out of range"));
  EXPECT_THAT(op({{"name", "barrier"}, {"barrier_id", 16}, {"num_threadblocks", 1}}), HasSubstr("16"));
  EXPECT_THAT(refused([&](Json& p) { ops(p, 0) = std::vector<Json>(65, put); }), HasSubstr("65 operations"));
  EXPECT_THAT(refused([](Json& p) {
                p["gpus"][0]["threadblocks"][0]["channels"][0]["channel_ids"] = std::vector<int>(17, 0);
              }),
              HasSubstr("more channels than the executor"));
  EXPECT_THAT(refused([](Json& p) { p["gpus"][0].erase("channels"); }), HasSubstr("'channels' is missing"));
  EXPECT_THAT(refused([](Json& p) { p.erase("protocol"); }), HasSubstr("'protocol' is missing"));
  EXPECT_THAT(refused([](Json& p) { p["collective"] = "dance"; }), HasSubstr("'dance', which is none of"));
  EXPECT_THAT(refused([](Json& p) { p["gpus"][1]["id"] = 0; }), HasSubstr("not in order"));
  EXPECT_THAT(refused([](Json& p) { p["gpus"][1]["channels"][0]["connected_to"] = Json::array({1}); }),
              HasSubstr("channel to the rank itself"));
  EXPECT_THAT(refused([](Json& p) { p["gpus"] = Json::array(); }), HasSubstr("no ranks"));
  EXPECT_THAT(refused([](Json& p) { p["use_double_scratch_buffer"] = true; }),
              HasSubstr("ops[3]: put: the executor always takes the first half"));
  EXPECT_THAT(refused([](Json& p) { ops(p, 0).push_back(talk("wait")); }),
              HasSubstr("waits 3 times in a launch for what is signalled 2 times"));
  EXPECT_THAT(
      refused([](Json& p) { p["gpus"][0]["threadblocks"].push_back(threadblock(1, {talk("signal")})); }),
      HasSubstr("gpus[0].threadblocks[1].ops[0]: signal: rank 0, thread block 0 does that"));
}

std::string our_plan(const Topology& topology, const Collective& collective, const Schedule& schedule,
                     bool one_memory) {
  return to_mscclpp_plan(
      lower<PeerProgram>(accepted(topology, collective, schedule),
                         {.in_place = one_memory, .reuse_scratch = false, .peers = peers_for_mscclpp()}));
}

// The printer's plans are read back before they leave, which throws if anything is wrong; that the reader has
// its own idea of them shows here.
TEST(ReadMscclppPlan, our_own_plans_are_right_in_place_too) {
  const Topology ring = test::ring(4);
  const std::vector<std::pair<Collective, Schedule>> algorithms = {
      {make_collective("allgather", 4, 2), test::ring_allgather(4, 2)},
      {make_collective("reducescatter", 4, 2), test::ring_reducescatter(4, 2)},
      {make_collective("allreduce", 4, 8), test::ring_allreduce(4, 2)}};
  for (const auto& [collective, schedule] : algorithms) {
    for (const bool one_memory : {false, true}) {
      const MscclppFile file =
          mscclpp_from_json(our_plan(ring, collective, schedule, one_memory), name_of(collective));
      EXPECT_EQ(file.collective, collective);
      EXPECT_EQ(file.program.in_place, one_memory) << name_of(collective);
      EXPECT_THAT(violations(file.collective, file.program), IsEmpty()) << name_of(collective);
    }
  }
}

// reduce_tbg: the copies of a group write one chunk per block, and the get of the other rank's first block
// reads half of the second one's, from which no signal comes to it. reduce_nvls: the last thing is a relaxed
// signal.
TEST(ReadMscclppPlan, samples_of_mscclpp) {
  const std::filesystem::path folder = CHORALE_SOURCE "/tests/data/mscclpp";
  const std::map<std::string, std::string> verdicts = {
      {"allreduce", ""},
      {"allreduce_packet", ""},
      {"allreduce_pipeline", ""},
      {"reduce", ""},
      {"reduce_nvls", "relaxed"},
      {"reduce_nvls_pipeline", "relaxed"},
      {"reduce_pack", ""},
      {"reduce_pack_tbg", ""},
      {"reduce_tbg",
       "reads rank 1's scratch[2], and nothing orders that with rank 1, block 1, instruction 0"},
      {"transfer_pack", ""},
      {"transfer_pack_tbg", ""}};
  for (const auto& [name, verdict] : verdicts) {
    std::ifstream in(folder / (name + ".json"));
    const Json plan = Json::parse(in);
    if (verdict.empty()) {
      EXPECT_THAT(faults(plan), IsEmpty()) << name;
    } else if (verdict == "relaxed") {
      EXPECT_THAT(faults(plan), ElementsAre(says(Kind::Race, "the user of rank"))) << name;
      EXPECT_THAT(faults(plan, true), IsEmpty()) << name;
    } else {
      EXPECT_THAT(faults(plan, true), ElementsAre(says(Kind::Race, verdict))) << name;
    }
  }
  // Scratch has room for 32 units.
  std::ifstream in(folder / "allreduce_pipeline.json");
  Json plan = Json::parse(in);
  for (Json& gpu : plan["gpus"]) gpu["semaphores"][2]["init_value"] = 33;
  EXPECT_THAT(faults(plan), ElementsAre(is(Kind::Race)));
}

// One change at a time in plans of ours: what is left out or mixed up is noticed, but for syncs and waits
// that others make superfluous.
TEST(ReadMscclppPlan, the_verifier_notices_nearly_every_change) {
  const Topology ring = test::ring(4);
  const std::vector<std::pair<Collective, Schedule>> algorithms = {
      {make_collective("allgather", 4, 1), test::ring_allgather(4, 1)},
      {make_collective("reducescatter", 4, 1), test::ring_reducescatter(4, 1)},
      {make_collective("allreduce", 4, 4), test::ring_allreduce(4, 1)}};
  using Change = std::function<bool(PeerInstruction&)>;  // false: not of this instruction
  // Of the destinations the last one: what is passed on is stored at home as well, wanted there or not.
  const auto shift = [](std::vector<DataPlace>& places) {
    if (places.empty()) return false;
    places.back().slot.index ^= 1;
    return true;
  };
  const std::map<std::string, Change> changes = {
      {"a sync", [](PeerInstruction& i) { return i.opcode == PeerOpcode::Sync; }},
      {"a wait", [](PeerInstruction& i) { return i.opcode == PeerOpcode::Wait; }},
      {"a move", [](PeerInstruction& i) { return i.opcode == PeerOpcode::Move; }},
      {"another source", [&](PeerInstruction& i) { return shift(i.does.from); }},
      {"another destination", [&](PeerInstruction& i) { return shift(i.does.to); }},
      {"a relaxed signal",
       [](PeerInstruction& i) { return i.opcode == PeerOpcode::Signal && !std::exchange(i.relaxed, true); }}};
  for (const auto& [kind, change] : changes) {
    int tried = 0, noticed = 0;
    for (const auto& [collective, schedule] : algorithms) {
      const MscclppFile file = mscclpp_from_json(our_plan(ring, collective, schedule, false), "ours");
      for (std::size_t b = 0; b < file.program.ranks[0].blocks.size(); ++b)
        for (std::size_t k = 0; k < file.program.ranks[0].blocks[b].instructions.size(); ++k) {
          // Not all waits at the start are needed: news of the last launch goes round the ring.
          if (kind == "a wait" && k < 2) continue;
          PeerProgram changed = file.program;
          auto& instructions = changed.ranks[0].blocks[b].instructions;
          if (!change(instructions[k])) continue;
          if (instructions[k] == file.program.ranks[0].blocks[b].instructions[k])
            instructions.erase(instructions.begin() + static_cast<std::ptrdiff_t>(k));
          ++tried;
          if (!violations(collective, changed, {}, 1).empty()) ++noticed;
        }
    }
    EXPECT_GE(tried, 10) << kind;
    EXPECT_GE(noticed, 0.95 * tried) << kind << ": " << noticed << " of " << tried;
  }
}

}  // namespace
}  // namespace chorale
