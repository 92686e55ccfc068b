// Gives wine the atomic append of NTFS: wine emulates FILE_APPEND_DATA by fstat and pwrite, so two processes that append at
// once overwrite each other. Loaded by LD_PRELOAD; writes to files named *.log go to the end of the file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int is_log(int fd) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path);
  return length > 4 && memcmp(path + length - 4, ".log", 4) == 0;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset) {
  static ssize_t (*original)(int, const void *, size_t, off_t);
  if (!original) original = dlsym(RTLD_NEXT, "pwrite64");
  // With O_APPEND, Linux ignores the offset.
  if (is_log(fd)) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_APPEND);
  return original(fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) { return pwrite64(fd, bytes, count, offset); }
