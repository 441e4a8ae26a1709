// The public API: everything that Chorale does, from values to values. Nothing here prints, reads the
// environment or keeps anything between calls, so calls may be made from any thread and at the same time.
//
//   const Machine dgx1 = machine("dgx1");
//   const Result found = frontier(dgx1, collective("allgather", dgx1), {.max_chunks = 6});
//   const Choice best = select({found}, {.collective = "allgather", .ranks = 8,
//                               .block_bytes = 1 << 20}).value();
//   write_files(compile(dgx1, found.points[best.point], Target::Mpi).files);
//
// What a caller got wrong, in a value as in a file, throws InputError with the place and the remedy. What is
// not known within the limits is a value (Verdict, Result::stopped), and so is what is impossible.
#pragma once

#include "api/alltoallv.h"
#include "api/compile.h"
#include "api/compose.h"
#include "api/inputs.h"
#include "api/library_model.h"
#include "api/machines.h"
#include "api/place.h"
#include "api/report.h"
#include "api/reshard.h"
#include "api/run.h"
#include "api/search.h"
#include "api/workload.h"
#include "ir/byte_size.h"
#include "ir/error.h"
#include "ir/files.h"
#include "ir/json.h"
#include "ir/row_named.h"
#include "jobs/binding.h"
#include "jobs/compare.h"
#include "jobs/design.h"
#include "jobs/library.h"
#include "jobs/lint.h"
#include "jobs/optimize.h"
#include "jobs/order.h"
#include "jobs/simulate.h"
#include "library/select.h"
