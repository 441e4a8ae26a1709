// The verifier of message plans (ir/message_plan.h): does a rank do what its program has for it
// (ir/step_table.h), each message and sum with the data that the steps give it, whatever the timing? Written
// from these two; it knows neither what makes plans (runtime/exchange/message_plan.h) nor what runs them.
//
// Each rank is judged by itself. Ranks whose plans are right also come to their end together: a message waits
// for messages of earlier rows alone, so there is always a first row whose ends can both begin.
#pragma once

#include <vector>

#include "ir/error.h"
#include "ir/message_plan.h"
#include "ir/pieces.h"
#include "ir/program.h"
#include "ir/step_table.h"

namespace chorale {

// Returns what is wrong with the plan of a rank of the program, whose rows the tables are, for blocks of one
// length; at most `limit` faults. Wrong is:
//   a message of the rank that is missing, or there twice, or to another peer, of another place or length
//   a message that sends another value than by steps, or a value at the end that another one is by steps;
//   values are sums in their order, and with the function that is applied to them
//   two tasks that touch the same memory, one of which writes, or two messages of a pair and tag, or sends of
//   one lane and two steps, that nothing orders as the steps do
//   a task that waits for a later one, and a message that waits for one of a later row
// `tags`: by row of the table (null: the rows themselves), modulo kTags. Requires a program that is right.
std::vector<Fault> violations(const Program&, const StepTables&, Rank, const Pieces&, const MessagePlan&,
                              const int* tags, int limit = 10);

}  // namespace chorale
