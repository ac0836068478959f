// A learning controller in the same process as its switch. It gets the switch's bytes in a
// callback, and answers from there.
#include <bofuss.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS = 8 };

struct network {
    bofuss_switch *sw;
    bofuss_codec *codec;
    uint64_t connection;
    struct { uint8_t mac[6]; uint32_t port; } known[HOSTS];
    int n_known;
};

static void must(bofuss_status status) {
    if (status != BOFUSS_STATUS_OK) {
        fprintf(stderr, "status %d\n", (int)status);
        exit(1);
    }
}

// Sends a command of dpctl to the switch.
static void command(struct network *net, const char *line) {
    uint8_t bytes[4096];
    size_t length, taken;
    must(bofuss_command(net->codec, 4, 1, line, bytes, sizeof bytes, &length));
    must(bofuss_feed(net->sw, 0, net->connection, bytes, length, &taken));
}

static uint32_t port_of(const struct network *net, const uint8_t *mac) {
    for (int i = 0; i < net->n_known; i++)
        if (!memcmp(net->known[i].mac, mac, 6)) return net->known[i].port;
    return 0;
}

static void packet_in(struct network *net, const bofuss_packet_in *in) {
    const uint8_t *to = in->data, *from = in->data + 6;
    if (!port_of(net, from) && net->n_known < HOSTS) {
        memcpy(net->known[net->n_known].mac, from, 6);
        net->known[net->n_known++].port = in->in_port;
    }
    uint32_t port = port_of(net, to);
    char out[16] = "flood", line[512];
    if (port) {
        snprintf(out, sizeof out, "%u", port);
        snprintf(line, sizeof line,
                 "flow-mod cmd=add,table=0,prio=10 eth_dst=%02x:%02x:%02x:%02x:%02x:%02x "
                 "apply:output=%u", to[0], to[1], to[2], to[3], to[4], to[5], port);
        command(net, line);
    }
    int n = snprintf(line, sizeof line, "packet-out %u %s%s ", in->in_port,
                     port ? "output:" : "", out);
    for (size_t i = 0; i < in->data_length; i++)
        n += snprintf(line + n, sizeof line - n, "%02x", in->data[i]);
    command(net, line);
}

static void sent(void *user, uint64_t connection, const uint8_t *bytes, size_t length) {
    struct network *net = user;
    size_t message;
    (void)connection;
    while (bofuss_message_length(bytes, length, &message) == BOFUSS_STATUS_OK) {
        bofuss_packet_in in;
        if (bofuss_read_packet_in(net->codec, bytes, message, &in) == BOFUSS_STATUS_OK)
            packet_in(net, &in);
        bytes += message;
        length -= message;
    }
}

static void transmit(void *user, uint32_t port, uint32_t queue, const bofuss_frame *frame) {
    (void)user, (void)queue;
    printf("to host %u out of port %u\n", frame->bytes[5], port);
}

// A frame from host to host; host n is on port n.
static void send_frame(struct network *net, uint8_t from, uint8_t to) {
    uint8_t data[60] = {2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x88, 0xb5};
    bofuss_frame frame = {data, sizeof data, 0};
    printf("host %u sends to host %u\n", from, to);
    must(bofuss_receive(net->sw, 0, from, &frame, 1));
}

int main(void) {
    struct network net = {0};
    bofuss_callbacks callbacks = {.user = &net, .transmit = transmit, .send = sent};
    bofuss_config config;
    uint8_t hello[8] = {4, 0, 0, 8, 0, 0, 0, 0};
    size_t taken;
    must(bofuss_config_default(&config));
    must(bofuss_codec_new(&net.codec));
    must(bofuss_switch_new(0, &config, &callbacks, &net.sw));
    for (uint32_t port = 1; port <= 3; port++)
        must(bofuss_port_add(net.sw, 0, port, NULL, NULL, 0));
    must(bofuss_connect(net.sw, 1, &net.connection));
    must(bofuss_feed(net.sw, 0, net.connection, hello, sizeof hello, &taken));
    command(&net, "add-flow priority=0,actions=controller:65535");
    send_frame(&net, 1, 2);
    send_frame(&net, 2, 1);
    send_frame(&net, 1, 2);
    send_frame(&net, 1, 2);
    must(bofuss_switch_free(&net.sw));
    must(bofuss_codec_free(&net.codec));
    return 0;
}
