// A tuner plugin of NCCL, written by 'chorale library export': it takes an algorithm for the sizes below, and
// leaves all other calls to NCCL.
//
//   cc -shared -fPIC -O2 nccl_tuner_plugin.c -o libnccl-tuner-chorale.so
//   NCCL_TUNER_PLUGIN=ABSOLUTE_PATH/libnccl-tuner-chorale.so PROGRAM
//
// It exports the interfaces that NCCL 2.23 to 2.30 ask for: versions 4, 5 and 6.
//
// ORIGIN
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// Of NCCL's interface, what is used here.
enum { RESULT_SUCCESS = 0, RESULT_SYSTEM_ERROR = 2 };  // ncclResult_t
enum { BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE };  // ncclFunc_t
enum { TREE = 0, RING = 1 };
enum { LL, LL128, SIMPLE };

typedef int GetCollInfo(void* context, int collective, size_t bytes, int operations, float** costs, int algorithms,
                        int protocols, int registered, int* channels);
typedef struct {
  const char* name;
  int (*init)(size_t ranks, size_t nodes, void (*log)(void), void** context);
  GetCollInfo* get_coll_info;
  int (*destroy)(void* context);
} TunerV4;
typedef struct {
  const char* name;
  int (*init)(void** context, uint64_t communicator, size_t ranks, size_t nodes, void (*log)(void), void* domains,
              void* constants);
  GetCollInfo* get_coll_info;
  int (*finalize)(void* context);
} TunerV5;
typedef struct {
  TunerV5 as_v5;
  int (*get_chunk_size)(void* context, int collective, size_t bytes, int algorithm, int protocol, int channels,
                        size_t* chunk);  // null: NCCL's
} TunerV6;

// For a collective of so many ranks and of bytes from least to most.
typedef struct {
  int collective;
  size_t ranks;
  uint64_t least, most;
  int algorithm, protocol;
} Row;
static const Row rows[] = {
    // ROWS
};

// The context is the number of ranks.
static int keep(size_t ranks, void** context) {
  size_t* const kept = malloc(sizeof *kept);
  if (kept == NULL) return RESULT_SYSTEM_ERROR;
  *kept = ranks;
  *context = kept;
  return RESULT_SUCCESS;
}

static int init_v4(size_t ranks, size_t nodes, void (*log)(void), void** context) {
  (void)nodes, (void)log;
  return keep(ranks, context);
}

static int init_v5(void** context, uint64_t communicator, size_t ranks, size_t nodes, void (*log)(void), void* domains,
                   void* constants) {
  (void)communicator, (void)nodes, (void)log, (void)domains, (void)constants;
  return keep(ranks, context);
}

// NCCL takes the entry of the table with the least cost; one below zero is not possible here, and stays.
static int get_coll_info(void* context, int collective, size_t bytes, int operations, float** costs, int algorithms,
                         int protocols, int registered, int* channels) {
  (void)operations, (void)registered, (void)channels;
  // The table is one block, algorithm by algorithm, whatever its type says.
  float* const table = (float*)costs;
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    const Row* const row = &rows[r];
    if (row->collective != collective || row->ranks != *(const size_t*)context || bytes < row->least ||
        bytes > row->most || row->algorithm >= algorithms || row->protocol >= protocols)
      continue;
    float* const cost = &table[row->algorithm * protocols + row->protocol];
    if (*cost >= 0) *cost = 0;
  }
  return RESULT_SUCCESS;
}

static int end(void* context) {
  free(context);
  return RESULT_SUCCESS;
}

const TunerV4 ncclTunerPlugin_v4 = {"chorale", init_v4, get_coll_info, end};
const TunerV5 ncclTunerPlugin_v5 = {"chorale", init_v5, get_coll_info, end};
const TunerV6 ncclTunerPlugin_v6 = {{"chorale", init_v5, get_coll_info, end}, NULL};
