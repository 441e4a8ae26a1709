/* Preloaded into ranks. Where Open MPI has nothing to do it calls sched_yield again and again; here that sleeps until one of its sockets
 * has something, or a millisecond is over. Else eight ranks on two processors take turns at finding out that nothing came, and the work
 * of others decides when they see what did. Whoever has just read or written is not put to sleep: what waits for that has to look.
 *
 * The sockets are those of Open MPI's epoll instances (opal_event_include=epoll). */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kMost = 16 };
static __thread int progressed;

static int instances(struct pollfd* found) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder && count < kMost && (entry = readdir(folder));) {
    char target[64] = "";
    if (readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1) > 0 && strcmp(target, "anon_inode:[eventpoll]") == 0)
      found[count++] = (struct pollfd){.fd = atoi(entry->d_name), .events = POLLIN};
  }
  if (folder) closedir(folder);
  return count;
}

int sched_yield(void) {
  static __thread struct pollfd waits[kMost];
  static __thread int count, calls;
  if (calls < 100 || calls % 1000 == 0) count = instances(waits); /* they are made one after the other */
  ++calls;
  if (!progressed) poll(waits, count, 1);
  progressed = 0;
  return 0;
}

typedef ssize_t Vectored(int, const struct iovec*, int);

ssize_t readv(int from, const struct iovec* places, int count) {
  static Vectored* real;
  if (!real) real = (Vectored*)dlsym(RTLD_NEXT, "readv");
  const ssize_t got = real(from, places, count);
  if (got > 0) progressed = 1;
  return got;
}

ssize_t writev(int to, const struct iovec* places, int count) {
  static Vectored* real;
  if (!real) real = (Vectored*)dlsym(RTLD_NEXT, "writev");
  const ssize_t put = real(to, places, count);
  if (put > 0) progressed = 1;
  return put;
}
