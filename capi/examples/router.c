// A P4 program as a switch: loads PROGRAM.json and ENTRIES.json, and passes it one packet.
#include <bofuss.h>
#include <stdio.h>

static void transmit(void *user, uint32_t port, const uint8_t *frame, size_t length) {
    (void)user;
    printf("out of port %u: %zu bytes, TTL %u\n", port, length, frame[22]);
}

/// Passes a file to bofuss_p4_load or bofuss_p4_write.
static int give(bofuss_p4 *router, const char *name,
                bofuss_status (*call)(const bofuss_p4 *, const uint8_t *, size_t)) {
    static uint8_t text[1 << 20];
    FILE *file = fopen(name, "rb");
    if (!file) return perror(name), 1;
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    if (!call(router, text, length)) return 0;
    fprintf(stderr, "%s: %s\n", name, bofuss_p4_error(router));
    return 1;
}

int main(int count, char **arguments) {
    static const uint8_t packet[] = {
        2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1, 8, 0,                                         // Ethernet
        0x45, 0, 0, 29, 0, 0, 0, 0, 64, 17, 0x5c, 0xbe, 10, 0, 1, 1, 10, 9, 9, 9,         // IPv4
        0, 7, 0, 9, 0, 9, 0, 0, 'A'};                                                     // UDP
    bofuss_p4 *router = NULL;
    uint64_t packets = 0, bytes = 0;
    if (count != 3 || bofuss_p4_new(1, &router)) return 1;
    if (give(router, arguments[1], bofuss_p4_load) || give(router, arguments[2], bofuss_p4_write)) return 1;
    for (uint32_t port = 1; port <= 2; port++) bofuss_p4_add_port(router, port);
    bofuss_p4_receive(router, 1000, 1, (bofuss_frame){packet, sizeof packet, 0}, transmit, NULL);
    // A packet that is cut off is refused, and counted.
    bofuss_p4_receive(router, 2000, 1, (bofuss_frame){packet, 14, 0}, transmit, NULL);
    bofuss_p4_counter(router, "RouterIngress.refused", 0, &packets, &bytes);
    printf("%llu refused\n", (unsigned long long)packets);
    // Port 2 has no room for a millisecond, for which a packet waits.
    bofuss_p4_hold(router, 2);
    bofuss_p4_receive(router, 3000, 1, (bofuss_frame){packet, sizeof packet, 0}, transmit, NULL);
    puts("port 2 has room again");
    bofuss_p4_leave(router, 1003000, 2, 1, transmit, NULL);
    return bofuss_p4_free(&router);
}
