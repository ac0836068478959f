// Plays the inputs of a record (see bofuss_embed::record) through a switch, and prints what they
// cause: the frames and messages of the other faces of the switch.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bofuss.h"

enum { MAX_FRAMES = 32 };

static void print_bytes(const uint8_t *bytes, size_t length) {
  for (size_t at = 0; at < length; at++)
    printf("%02x", bytes[at]);
  printf("\n");
}

static void transmit(void *user, uint32_t port, uint32_t queue, const uint8_t *frame,
                     size_t length) {
  (void)user;
  printf("frame %u %u ", port, queue);
  print_bytes(frame, length);
}

static void send_bytes(void *user, uint64_t connection, const uint8_t *bytes, size_t length) {
  (void)user;
  (void)connection;
  printf("message ");
  print_bytes(bytes, length);
}

static void check(enum bofuss_status status, struct bofuss_switch *sw, const char *what) {
  if (status == BOFUSS_STATUS_OK)
    return;
  fprintf(stderr, "%s: %d: %s\n", what, status, bofuss_switch_error(sw));
  exit(1);
}

// Turns hexadecimal digits into bytes in the same place; how many there are.
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

int main(int argc, char **argv) {
  FILE *record = argc > 1 ? fopen(argv[1], "r") : NULL;
  if (record == NULL)
    return 1;
  struct bofuss_config config;
  bofuss_config_default(&config);
  config.n_tables = 4;
  struct bofuss_callbacks callbacks = {.transmit = transmit, .send = send_bytes};
  struct bofuss_switch *sw;
  if (bofuss_switch_new(0, &config, &callbacks, &sw) != BOFUSS_STATUS_OK)
    return 1;
  uint64_t connection = 0;
  uint32_t ports = 0;
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, record) > 0) {
    if (line[0] < '0' || line[0] > '9')
      continue;
    uint64_t now = strtoull(strtok(line, " \n"), NULL, 10);
    const char *input = strtok(NULL, " \n");
    if (strcmp(input, "port") == 0) {
      ports++;
      check(bofuss_port_add(sw, now, ports, NULL, NULL, 0), sw, input);
    } else if (strcmp(input, "connect") == 0) {
      static const uint8_t hello[] = {4, 0, 0, 8, 0, 0, 0, 0};
      check(bofuss_connect(sw, 1, &connection), sw, input);
      feed(sw, now, connection, hello, sizeof hello);
    } else if (strcmp(input, "frames") == 0) {
      struct bofuss_frame frames[MAX_FRAMES];
      size_t count = 0;
      uint32_t port = (uint32_t)atoi(strtok(NULL, " \n"));
      for (char *word; count < MAX_FRAMES && (word = strtok(NULL, " \n")) != NULL; count++) {
        frames[count].length = decode(word);
        frames[count].bytes = (const uint8_t *)word;
      }
      check(bofuss_receive(sw, now, port, frames, count), sw, input);
    } else if (strcmp(input, "message") == 0) {
      strtok(NULL, " \n");
      char *word = strtok(NULL, " \n");
      feed(sw, now, connection, word, decode(word));
    } else if (strcmp(input, "tick") == 0) {
      check(bofuss_tick(sw, now), sw, input);
    } else {
      fprintf(stderr, "%s is not played here\n", input);
      return 1;
    }
  }
  free(line);
  fclose(record);
  return bofuss_switch_free(&sw) == BOFUSS_STATUS_OK ? 0 : 1;
}
