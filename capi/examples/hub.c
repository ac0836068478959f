// A hub: one entry sends every frame to all other ports.
#include <bofuss.h>
#include <stdio.h>
#include <string.h>

static void transmit(void *user, uint32_t port, uint32_t queue, const bofuss_frame *frame) {
    (void)user, (void)queue;
    printf("out of port %u: %zu bytes\n", port, frame->length);
}

int main(void) {
    bofuss_config config;
    bofuss_callbacks callbacks = {.transmit = transmit};
    bofuss_switch *hub = NULL;
    bofuss_codec *codec = NULL;
    bofuss_config_default(&config);
    if (bofuss_switch_new(0, &config, &callbacks, &hub) || bofuss_codec_new(&codec)) return 1;
    for (uint32_t port = 1; port <= 3; port++) bofuss_port_add(hub, 0, port, NULL, NULL, 0);

    // The controller's side of a connection: HELLO, then the entry.
    uint64_t connection;
    uint8_t bytes[256] = {4, 0, 0, 8, 0, 0, 0, 0};
    size_t length, taken;
    bofuss_connect(hub, 1, &connection);
    bofuss_feed(hub, 0, connection, bytes, 8, &taken);
    if (bofuss_command(codec, 4, 1, "add-flow actions=flood", bytes, sizeof bytes, &length)) return 1;
    bofuss_feed(hub, 0, connection, bytes, length, &taken);

    uint8_t data[60];
    memset(data, 2, sizeof data);
    bofuss_frame frame = {data, sizeof data, 0};
    bofuss_receive(hub, 1000, 1, &frame, 1);
    bofuss_codec_free(&codec);
    return bofuss_switch_free(&hub);
}
