// What bump.c does to a frame, and where the rules come from.
#ifndef BUMP_H
#define BUMP_H
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef enum { OUT, IN } Direction;                   // leaving the host, reaching it
typedef enum { ANY_PEER, GROUP_FRAMES, ONE_PEER } Match;
typedef enum { UNIFORM, NORMAL, PARETO } Distribution;

typedef struct {
  Match match;
  uint8_t mac[6];
  double delay_ms, jitter_ms, loss, gap_enter, gap_leave, duplicate, reorder, corrupt;
  double rate_kbit, queue_ms;
  int keep_order, only_udp;
  Distribution distribution;
  // The rule's own state.
  uint64_t random;
  int in_gap;
  int64_t link_free_at, last_departure;
  uint64_t frames, lost, overflowed, duplicated, reordered, corrupted;
} Rule;

// Reads the rule file anew; a file that is not there means no rules.
void rules_load(const char *path);
// The first rule that fits the frame, or NULL: it passes as it is.
Rule *rule_for(Direction direction, const uint8_t *frame, size_t length);
void rules_print_counts(FILE *out);

// A number from [0, 1); the same from run to run for the same seed.
double rule_random(Rule *rule);
// True with a chance of so many percent.
int rule_chance(Rule *rule, double percent);
// Delay with jitter, in nanoseconds.
int64_t rule_delay(Rule *rule);
#endif
