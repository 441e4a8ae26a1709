/* The public API for C, and for languages that call C: the most frequent questions, with results as the texts
 * of docs/formats.md.
 *
 *   char* const found = chorale_frontier("dgx1", "allgather", &(chorale_question){.max_chunks = 6});
 *   if (!found) fprintf(stderr, "%s\n", chorale_last_error());
 *   printf("for messages of 1 MiB: point %d\n", chorale_best(found, 1 << 20));
 *   chorale_free(found);
 *
 * Functions may be called from any thread, several at once. A char* that is returned is the caller's, to be
 * freed by chorale_free; a const char* is not. NULL, or -1: an argument cannot be used, or there is not
 * enough memory; chorale_last_error() reports why, in one line. */
#ifndef CHORALE_C_H
#define CHORALE_C_H

#ifdef __cplusplus
extern "C" {
#endif

/* A field of 0 is as if it were left out on the command line. */
typedef struct chorale_question {
  int min_chunks, max_chunks; /* pieces that a block is cut into, at least (1) and at most (as many as pay) */
  int max_steps;              /* only schedules of at most this many steps */
  int root;                   /* of collectives that have one */
  long long conflicts;        /* of a question to a solver: the same on every machine */
  double seconds;    /* of the whole search; what was found until then is returned, marked unproven */
  const char* order; /* of sums: "agreed", "fixed", "free", or a tree, "((0 1) (2 3))" (agreed) */
  /* Of collectives by name, as on the command line: ranks, "3,11,19"; several groups at once, "0,1;2,3" or
   * "row"; and the chunks of each rank of an "allgatherv" and its like, "3,1,0,2". */
  const char *group, *groups, *counts;
} chorale_question;

/* "0.1.0" */
const char* chorale_version(void);

/* The best schedules of a collective on a machine, each by name or from a file, as `chorale frontier --json`
 * writes them. The question may be NULL. */
char* chorale_frontier(const char* machine, const char* collective, const chorale_question* question);

/* What is wrong with a result, one fault per line, without trust in any of it; "" if nothing is. */
char* chorale_check(const char* result);

/* The number of the point with the least predicted time for messages of `message_bytes`, as nccl-tests counts
   them: the largest buffer of a rank. */
int chorale_best(const char* result, double message_bytes);

/* The HTML report of `chorale show --html`. */
char* chorale_page(const char* result);

/* Writes a point of a result as a program for "mpi", "cuda" or another of `chorale emit --target` into a
 * directory, which is made if it does not exist. Returns what was written, one path per line. */
char* chorale_compile(const char* result, int point, const char* target, const char* directory);

/* The error of the last function above that failed in this thread; "" before. Valid until the next one that
 * fails. */
const char* chorale_last_error(void);

void chorale_free(char* text);

#ifdef __cplusplus
}
#endif

#endif
