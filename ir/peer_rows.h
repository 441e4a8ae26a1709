// A peer program as rows of integers, as a kernel reads it. C++17 without anything of ours, since it is
// compiled for devices, too, and goes along with emitted programs.
#pragma once

namespace chorale {

// Where something lies. In programs that are right in place, slots of the buffer that is not there have
// become slots of the other one.
struct PeerPlaceRow {
  int rank;    // -1 - t: of all ranks of team t
  int buffer;  // 0 input, 1 output, 2 scratch
  int index;   // in chunks
};

struct PeerRow {
  int kind;      // 0 move, 1 signal, 2 wait, 3 sync, 4 move from or to a team
  int count;     // of a move: chunks
  int piece;     // of the first one
  int places;    // of a move: where in the table of places `from` begins; `to` follows
  int from;      // how many
  int to;        // how many
  int rank;      // of a signal: owner of the counter, -1 - t: all of team t; of a wait: who raises it
  int counter;   // of that rank; of a wait: of the own rank
  int value;     // in a launch
  int a_launch;  // what the counter gains in a launch
  int lag;       // of a wait, in launches
  int position;  // of a move that applies the epilogue: where its first chunk lies in the inputs; else -1
};

struct PeerBlockRow {
  int rank;
  int row;   // the first one
  int rows;  // how many
};

// Ranks whose memory a switch reaches at one address, sorted, in the table of members.
struct PeerTeamRow {
  int first;
  int count;
};

// What a rank has: in chunks, and counters. The places of its input and output slots begin at `inputs` and
// `outputs`; in place both lie in one buffer.
struct PeerRankRow {
  int input_chunks;
  int output_chunks;
  int scratch_chunks;
  int counters;
  int inputs;
  int outputs;
  int slice;  // where its first output lies in the inputs
};

}  // namespace chorale
