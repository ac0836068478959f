// Plays the calls of a script (see embed/tests/common/scripted.rs) on a switch, and prints the
// effects of each in the script's format.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bofuss.h"

static void print_bytes(const uint8_t *bytes, size_t length) {
  for (size_t at = 0; at < length; at++)
    printf("%02x", bytes[at]);
  printf("\n");
}

static void transmit(void *user, uint32_t port, uint32_t queue, const bofuss_frame *frame) {
  (void)user;
  printf("> transmit %u %u ", port, queue);
  print_bytes(frame->bytes, frame->length);
}

static void send_bytes(void *user, uint64_t connection, const uint8_t *bytes, size_t length) {
  (void)user;
  printf("> send %llu ", (unsigned long long)connection);
  print_bytes(bytes, length);
}

static void closed(void *user, uint64_t connection, const char *why) {
  (void)user;
  (void)why;
  printf("> close %llu\n", (unsigned long long)connection);
}

static void set_link(void *user, uint32_t port, uint8_t up) {
  (void)user;
  printf("> link %u %s\n", port, up ? "up" : "down");
}

static void check(enum bofuss_status status, struct bofuss_switch *sw, const char *what) {
  if (status == BOFUSS_STATUS_OK)
    return;
  fprintf(stderr, "%s: %d: %s\n", what, status, bofuss_switch_error(sw));
  exit(1);
}

// The next word of the line; it has to be there.
static char *word(void) {
  char *found = strtok(NULL, " \n");
  if (found == NULL)
    exit(2);
  return found;
}

static uint64_t number(void) { return strtoull(word(), NULL, 10); }

// Converts hexadecimal digits to bytes in place; returns how many bytes.
static size_t decode(char *digits) {
  size_t length = strlen(digits) / 2;
  for (size_t at = 0; at < length; at++) {
    unsigned byte;
    sscanf(digits + 2 * at, "%2x", &byte);
    digits[at] = (char)byte;
  }
  return length;
}

static void feed(struct bofuss_switch *sw, uint64_t now, uint64_t connection, const void *bytes,
                 size_t length) {
  size_t taken;
  check(bofuss_feed(sw, now, connection, bytes, length, &taken), sw, "feed");
  if (taken != length)
    exit(1);
}

// Makes the switch of a line with KEY=VALUE...
static struct bofuss_switch *made(void) {
  struct bofuss_config config;
  bofuss_config_default(&config);
  for (char *pair; (pair = strtok(NULL, " \n")) != NULL;) {
    char *value = strchr(pair, '=');
    if (value == NULL)
      continue;
    *value++ = 0;
    uint32_t n = (uint32_t)strtoul(value, NULL, 10);
    if (strcmp(pair, "tables") == 0)
      config.n_tables = (uint8_t)n;
    else if (strcmp(pair, "max_entries") == 0)
      config.max_entries = n;
    else if (strcmp(pair, "max_total_entries") == 0)
      config.max_total_entries = n;
    else if (strcmp(pair, "max_groups") == 0)
      config.max_groups = n;
    else if (strcmp(pair, "max_buckets") == 0)
      config.max_buckets = n;
    else if (strcmp(pair, "max_meters") == 0)
      config.max_meters = n;
    else if (strcmp(pair, "max_bands") == 0)
      config.max_bands = (uint8_t)n;
    else if (strcmp(pair, "select") == 0)
      config.select = strcmp(value, "RoundRobin") == 0 ? 1 : strcmp(value, "Random") == 0 ? 2 : 0;
    else if (strcmp(pair, "fail_mode") == 0)
      config.fail_mode = strcmp(value, "standalone") == 0;
    else if (strcmp(pair, "links_fixed") == 0)
      config.links_fixed = (uint8_t)n;
  }
  struct bofuss_callbacks callbacks = {
      .transmit = transmit, .send = send_bytes, .close = closed, .set_link = set_link};
  struct bofuss_switch *sw;
  if (bofuss_switch_new(0, &config, &callbacks, &sw) != BOFUSS_STATUS_OK)
    exit(1);
  return sw;
}

// Adds a port, or changes it: address, features, speed and link.
static void change_port(struct bofuss_switch *sw, uint64_t now) {
  uint32_t port = (uint32_t)number();
  char *address = word();
  decode(address);
  word();
  uint32_t kbps = (uint32_t)number();
  if (strcmp(word(), "up") == 0)
    check(bofuss_port_add(sw, now, port, "", (uint8_t *)address, kbps), sw, "port");
  else
    check(bofuss_port_set_link(sw, now, port, 0), sw, "port");
}

static void receive(struct bofuss_switch *sw, uint64_t now) {
  uint32_t port = (uint32_t)number();
  char *digits = word();
  struct bofuss_frame frame = {.length = decode(digits)};
  frame.bytes = (const uint8_t *)digits;
  check(bofuss_receive(sw, now, port, &frame, 1), sw, "frame");
}

int main(int argc, char **argv) {
  FILE *script = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (script == NULL)
    return 1;
  struct bofuss_switch *sw = NULL;
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, script) > 0) {
    const char *first = strtok(line, " \n");
    if (first != NULL && strcmp(first, "switch") == 0) {
      sw = made();
      continue;
    }
    if (first == NULL || first[0] < '0' || first[0] > '9')
      continue;
    uint64_t now = strtoull(first, NULL, 10);
    const char *input = word();
    if (strcmp(input, "port") == 0) {
      change_port(sw, now);
    } else if (strcmp(input, "gone") == 0) {
      check(bofuss_port_remove(sw, now, (uint32_t)number()), sw, input);
    } else if (strcmp(input, "connect") == 0) {
      uint64_t connection = 0;
      uint64_t expected = number();
      check(bofuss_connect(sw, strcmp(word(), "tool") != 0, &connection), sw, input);
      if (connection != expected)
        return 1;
    } else if (strcmp(input, "disconnect") == 0) {
      check(bofuss_disconnect(sw, now, number()), sw, input);
    } else if (strcmp(input, "frame") == 0) {
      receive(sw, now);
    } else if (strcmp(input, "feed") == 0) {
      uint64_t to = number();
      char *digits = word();
      feed(sw, now, to, digits, decode(digits));
    } else if (strcmp(input, "tick") == 0) {
      check(bofuss_tick(sw, now), sw, input);
    } else {
      fprintf(stderr, "%s is not played here\n", input);
      return 1;
    }
  }
  free(line);
  fclose(script);
  return bofuss_switch_free(&sw) == BOFUSS_STATUS_OK ? 0 : 1;
}
