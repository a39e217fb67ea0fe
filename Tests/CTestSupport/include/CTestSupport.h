// What tests need of Linux and do not ship: network namespaces.
#ifndef TALKAROUND_CTESTSUPPORT_H
#define TALKAROUND_CTESTSUPPORT_H

/// Moves the calling thread into a new network namespace with its loopback up; 0, or -1 and errno.
/// Needs root.
int test_enter_new_network(void);

/// Moves the calling thread into the network namespace of a process; 0, or -1 and errno.
int test_enter_network_of(int pid);

#endif
