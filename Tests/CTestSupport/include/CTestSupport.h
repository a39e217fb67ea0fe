// What tests need of Linux and do not ship: a count of allocations, network namespaces.
#ifndef TALKAROUND_CTESTSUPPORT_H
#define TALKAROUND_CTESTSUPPORT_H

/// How often the calling thread has taken memory (malloc, calloc, realloc) since it started;
/// 0 for ever under a sanitizer, which has these functions for itself.
unsigned long test_allocations(void);

/// 0 under a sanitizer, where nothing is counted.
int test_counts_allocations(void);

/// Moves the calling thread into a new network namespace with its loopback up; 0, or -1 and errno.
/// Needs root.
int test_enter_new_network(void);

/// Moves the calling thread into the network namespace of a process; 0, or -1 and errno.
int test_enter_network_of(int pid);

#endif
