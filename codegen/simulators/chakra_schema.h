// Numbers of Chakra's schema (MLCommons, et_def.proto) that Chorale writes or reads. An execution trace is a
// file of messages, each after its length: GlobalMetadata, then a Node per operation.
#pragma once

#include <array>
#include <string_view>

namespace chorale {

struct ChakraMetadata {
  enum Field { Version = 1, Attribute = 2 };
};

struct ChakraNode {
  enum Field {
    Id = 1,
    Name = 2,
    Type = 3,
    DataDependencies = 5,
    Start = 6,     // microseconds
    Duration = 7,  // microseconds
    Inputs = 8,    // of whose fields the first has their values
    Attribute = 10
  };
  enum Kind { Metadata = 1, Send = 5, Receive = 6, Collective = 7 };
};

// A field is a name, or a value of a type.
struct ChakraAttribute {
  enum Field {
    Name = 1,
    Int32 = 7,
    Int64 = 9,
    Uint32 = 11,
    Uint64 = 13,
    Sint32 = 15,
    Sint64 = 17,
    Fixed32 = 19,
    Fixed64 = 21,
    Sfixed32 = 23,
    Sfixed64 = 25,
    Bool = 27,
    Text = 29
  };
};

// By "comm_type" of a node.
constexpr std::array<std::string_view, 10> kChakraCollectives = {
    "all_reduce", "reduce",     "all_gather",     "gather",         "scatter",
    "broadcast",  "all_to_all", "reduce_scatter", "reduce_scatter", "barrier"};

// Of Chorale's own traces, whose nodes are the messages of one collective: attributes of the metadata.
constexpr std::string_view kChakraCollective = "collective";       // its name
constexpr std::string_view kChakraRanks = "ranks";                 // their number
constexpr std::string_view kChakraMessageBytes = "message_bytes";  // as nccl-tests counts them

}  // namespace chorale
