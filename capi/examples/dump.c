// Prints the entries of a switch as text and as JSON, and explains what happens to a frame.
#include <bofuss.h>
#include <stdio.h>
#include <stdlib.h>

static bofuss_codec *codec;

static void sent(void *user, uint64_t connection, const uint8_t *bytes, size_t length) {
    static char text[65536];
    size_t message, needed;
    (void)user, (void)connection;
    while (bofuss_message_length(bytes, length, &message) == BOFUSS_STATUS_OK) {
        for (int json = 0; json <= 1; json++) {
            if (bofuss_message_text(codec, bytes, message, json, text, sizeof text, &needed))
                exit(1);
            puts(text);
        }
        bytes += message;
        length -= message;
    }
}

int main(void) {
    bofuss_config config;
    bofuss_callbacks callbacks = {.send = sent};
    bofuss_switch *sw = NULL;
    uint64_t connection;
    static const char *const commands[] = {
        "add-flow table=0,priority=5,ip,nw_dst=10.0.0.0/8,actions=dec_ttl,output:2",
        "flow-mod cmd=add,table=0,prio=7 eth_type=0x806 apply:output=1",
        "dump-flows",
    };
    uint8_t bytes[4096] = {4, 0, 0, 8, 0, 0, 0, 0};
    size_t length, taken;
    bofuss_config_default(&config);
    if (bofuss_codec_new(&codec) || bofuss_switch_new(0, &config, &callbacks, &sw)) return 1;
    bofuss_port_add(sw, 0, 1, "left", NULL, 1000000);
    bofuss_port_add(sw, 0, 2, "right", NULL, 1000000);
    bofuss_connect(sw, 1, &connection);
    bofuss_feed(sw, 0, connection, bytes, 8, &taken);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (bofuss_command(codec, 4, 1, commands[i], bytes, sizeof bytes, &length)) return 1;
        bofuss_feed(sw, 0, connection, bytes, length, &taken);
    }
    uint8_t arp[60] = {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 1, 8, 6};
    bofuss_frame frame = {arp, sizeof arp, 0};
    static char trace[8192];
    size_t needed;
    if (bofuss_trace(sw, 0, 2, frame, 0, trace, sizeof trace, &needed)) return 1;
    puts(trace);
    bofuss_usage usage;
    bofuss_get_usage(sw, &usage);
    printf("%u entries, %u ports\n", usage.flow_entries, usage.ports);
    bofuss_codec_free(&codec);
    return bofuss_switch_free(&sw);
}
