// A page cannot start programs. Commands that do say that starting failed.
#define _GNU_SOURCE  // for ppoll
#include <errno.h>
#include <poll.h>
#include <spawn.h>

int posix_spawnp(pid_t* process, const char* file, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const arguments[], char* const variables[]) {
  (void)process, (void)file, (void)actions, (void)attributes, (void)arguments, (void)variables;
  return ENOSYS;
}

int prctl(int option, ...) {
  (void)option;
  errno = ENOSYS;
  return -1;
}

int ppoll(struct pollfd* files, nfds_t count, const struct timespec* most, const sigset_t* blocked) {
  (void)files, (void)count, (void)most, (void)blocked;
  errno = ENOSYS;
  return -1;
}
