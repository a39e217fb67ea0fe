#define _GNU_SOURCE
#include "CTestSupport.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int test_enter_new_network(void) {
  if (unshare(CLONE_NEWNET) != 0) return -1;
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  struct ifreq request;
  memset(&request, 0, sizeof request);
  strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  int result = ioctl(fd, SIOCSIFFLAGS, &request);
  close(fd);
  return result;
}

int test_enter_network_of(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/ns/net", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  int result = setns(fd, CLONE_NEWNET);
  close(fd);
  return result;
}
