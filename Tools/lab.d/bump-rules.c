// Rules of bump.c: how they are read, which frame they fit, and their chances.
#include "bump.h"

#include <linux/if_ether.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_RULES = 256, DEFAULT_QUEUE_MS = 200, MDNS_PORT = 5353, PROTOCOL_UDP = 17 };

static Rule rules[2][MAX_RULES];
static int rule_count[2];

static void parse_peer(Rule *rule, const char *word) {
  if (!strcmp(word, "*")) rule->match = ANY_PEER;
  else if (!strcmp(word, "mcast")) rule->match = GROUP_FRAMES;
  else {
    unsigned byte[6] = {0};
    sscanf(word, "%x:%x:%x:%x:%x:%x", byte, byte + 1, byte + 2, byte + 3, byte + 4, byte + 5);
    for (int i = 0; i < 6; i++) rule->mac[i] = (uint8_t)byte[i];
    rule->match = ONE_PEER;
  }
}

static int parse_key(Rule *rule, const char *key, const char *value, uint64_t *seed) {
  struct { const char *name; double *number; } numbers[] = {
      {"delay", &rule->delay_ms},     {"jitter", &rule->jitter_ms},   {"loss", &rule->loss},
      {"dup", &rule->duplicate},      {"reorder", &rule->reorder},    {"corrupt", &rule->corrupt},
      {"rate", &rule->rate_kbit},     {"queue", &rule->queue_ms},
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(key, numbers[i].name)) continue;
    *numbers[i].number = atof(value);
    return 1;
  }
  if (!strcmp(key, "gap")) return sscanf(value, "%lf,%lf", &rule->gap_enter, &rule->gap_leave) == 2;
  if (!strcmp(key, "keep")) return rule->keep_order = atoi(value), 1;
  if (!strcmp(key, "udp")) return rule->only_udp = atoi(value), 1;
  if (!strcmp(key, "seed")) return *seed = strtoull(value, NULL, 10), 1;
  if (!strcmp(key, "dist")) {
    rule->distribution = *value == 'n' ? NORMAL : *value == 'p' ? PARETO : UNIFORM;
    return 1;
  }
  return 0;
}

static void parse_line(char *line) {
  char *rest, *word = strtok_r(line, " \t\n", &rest);
  if (!word || *word == '#') return;
  Direction direction = !strcmp(word, "in") ? IN : OUT;
  char *peer = strtok_r(NULL, " \t\n", &rest);
  if (!peer || rule_count[direction] == MAX_RULES) return;
  Rule *rule = &rules[direction][rule_count[direction]++];
  *rule = (Rule){.queue_ms = DEFAULT_QUEUE_MS};
  uint64_t seed = 1;
  parse_peer(rule, peer);
  while ((word = strtok_r(NULL, " \t\n", &rest))) {
    char *value = strchr(word, '=');
    if (value) *value++ = 0;
    if (!value || !parse_key(rule, word, value, &seed))
      fprintf(stderr, "bump: no key '%s': it is ignored\n", word);
  }
  // Odd, and another for each direction, so that both do not lose the same frames.
  rule->random = seed * 0x9E3779B97F4A7C15u + 2 * (uint64_t)direction + 1;
}

void rules_load(const char *path) {
  rule_count[OUT] = rule_count[IN] = 0;
  FILE *file = fopen(path, "r");
  if (!file) return;
  char line[512];
  while (fgets(line, sizeof line, file)) parse_line(line);
  fclose(file);
}

// mDNS is not media: a rule for UDP alone leaves discovery as it is.
static int is_media(const uint8_t *frame, size_t length) {
  unsigned type = (unsigned)frame[12] << 8 | frame[13], protocol;
  size_t udp;
  if (type == ETH_P_IP && length >= 34) {
    udp = 14 + (frame[14] & 15u) * 4;
    protocol = frame[23];
  } else if (type == ETH_P_IPV6 && length >= 54) {
    udp = 54;
    protocol = frame[20];
  } else {
    return 0;
  }
  if (protocol != PROTOCOL_UDP || udp + 4 > length) return 0;
  return (frame[udp + 2] << 8 | frame[udp + 3]) != MDNS_PORT;
}

Rule *rule_for(Direction direction, const uint8_t *frame, size_t length) {
  const uint8_t *peer = direction == OUT ? frame : frame + 6;
  for (int i = 0; i < rule_count[direction]; i++) {
    Rule *rule = &rules[direction][i];
    int fits = rule->match == ANY_PEER || (rule->match == GROUP_FRAMES && (frame[0] & 1)) ||
               (rule->match == ONE_PEER && !memcmp(rule->mac, peer, 6));
    if (fits) return rule->only_udp && !is_media(frame, length) ? NULL : rule;
  }
  return NULL;
}

void rules_print_counts(FILE *out) {
  for (int direction = OUT; direction <= IN; direction++) {
    for (int i = 0; i < rule_count[direction]; i++) {
      const Rule *r = &rules[direction][i];
      fprintf(out, "%s rule %d: frames %lu lost %lu overflowed %lu ",
              direction == OUT ? "out" : "in", i, r->frames, r->lost, r->overflowed);
      fprintf(out, "duplicated %lu reordered %lu corrupted %lu\n", r->duplicated, r->reordered,
              r->corrupted);
    }
  }
}

// xorshift64*
double rule_random(Rule *rule) {
  uint64_t x = rule->random;
  x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
  rule->random = x;
  return (double)((x * 0x2545F4914F6CDD1Du) >> 11) / 9007199254740992.0;
}

int rule_chance(Rule *rule, double percent) {
  return percent > 0 && rule_random(rule) * 100 < percent;
}

int64_t rule_delay(Rule *rule) {
  double milliseconds = rule->delay_ms, jitter = rule->jitter_ms;
  if (jitter > 0) {
    double u = 1 - rule_random(rule);
    switch (rule->distribution) {
      case UNIFORM: milliseconds += jitter * (2 * u - 1); break;
      case NORMAL:
        milliseconds += jitter * sqrt(-2 * log(u)) * cos(2 * M_PI * rule_random(rule));
        break;
      case PARETO: milliseconds += jitter * (pow(u, -1 / 3.0) - 1.5); break;
    }
  }
  return milliseconds > 0 ? (int64_t)(milliseconds * 1e6) : 0;
}
