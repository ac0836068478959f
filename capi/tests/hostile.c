// Passes wrong pointers, lengths and sequences of calls: each gives a status, and changes nothing.
#include <bofuss.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IS(call, status) assert((call) == BOFUSS_STATUS_##status)

static bofuss_switch *sw;
static int n_sent;

static void sent(void *user, uint64_t connection, const uint8_t *bytes, size_t length) {
    (void)bytes;
    assert(user == &n_sent && length >= 8);
    n_sent++;
    // A callback may call the switch, but not free it.
    size_t taken;
    uint8_t nothing = 0;
    IS(bofuss_feed(sw, 0, connection, &nothing, 0, &taken), OK);
    if (sw) IS(bofuss_switch_free(&sw), BUSY);
}

int main(void) {
    bofuss_config config;
    bofuss_callbacks callbacks = {.user = &n_sent, .send = sent};
    uint8_t bytes[64] = {4, 0, 0, 8, 0, 0, 0, 0};
    uint64_t connection;
    size_t n;
    IS(bofuss_config_default(NULL), NULL);
    IS(bofuss_config_default(&config), OK);
    IS(bofuss_switch_new(0, NULL, &callbacks, &sw), NULL);
    IS(bofuss_switch_new(0, &config, NULL, &sw), NULL);
    IS(bofuss_switch_new(0, &config, &callbacks, NULL), NULL);
    for (int wrong = 0; wrong < 8; wrong++) {
        bofuss_config bad = config;
        if (wrong == 0) bad.n_tables = 0;
        if (wrong == 1) bad.n_tables = 255;
        if (wrong == 2) bad.engine = 3;
        if (wrong == 3) bad.fail_mode = 9;
        if (wrong == 4) bad.select = 3;
        if (wrong == 5) bad.pool_bytes = 0;
        if (wrong == 6) bad.pool_bytes = 65919;
        if (wrong == 7) bad.links_fixed = 9;
        IS(bofuss_switch_new(0, &bad, &callbacks, &sw), BAD_VALUE);
        assert(!sw && strlen(bofuss_config_error(&bad)) > 10);
    }
    assert(!bofuss_config_error(&config) && !bofuss_config_error(NULL));
    // Calls without a switch.
    IS(bofuss_tick(NULL, 0), NULL);
    IS(bofuss_receive(NULL, 0, 1, NULL, 0), NULL);
    IS(bofuss_switch_free(NULL), NULL);
    IS(bofuss_switch_free(&sw), NULL);
    assert(!bofuss_switch_error(NULL));

    IS(bofuss_switch_new(0, &config, &callbacks, &sw), OK);
    IS(bofuss_port_add(sw, 0, 0, NULL, NULL, 0), BAD_VALUE);
    IS(bofuss_port_add(sw, 0, 0xfffffffd, NULL, NULL, 0), BAD_VALUE);
    IS(bofuss_port_add(sw, 0, 1, "\xff\xfe", NULL, 0), BAD_TEXT);
    IS(bofuss_port_add(sw, 0, 1, "a name that is longer than a port's name may be", NULL, 0), OK);
    IS(bofuss_port_remove(sw, 0, 9), NO_PORT);
    assert(strstr(bofuss_switch_error(sw), "9"));
    IS(bofuss_connect(sw, 1, NULL), NULL);
    IS(bofuss_connect(sw, 1, &connection), OK);
    assert(n_sent == 1);
    IS(bofuss_feed(sw, 0, connection, NULL, 5, &n), NULL);
    IS(bofuss_feed(sw, 0, connection, bytes, 8, NULL), NULL);
    IS(bofuss_feed(sw, 0, connection, bytes, (size_t)-1, &n), BAD_VALUE);
    IS(bofuss_feed(sw, 0, connection + 1, bytes, 8, &n), NO_CONNECTION);
    IS(bofuss_feed(sw, 0, connection, bytes, 8, &n), OK);

    // Frames: too long, too many, none.
    bofuss_frame frames[3] = {{bytes, 60, 0}, {NULL, 60, 0}, {bytes, 60, 0}};
    IS(bofuss_receive(sw, 0, 1, NULL, 3), NULL);
    IS(bofuss_receive(sw, 0, 1, frames, (size_t)-1), BAD_VALUE);
    IS(bofuss_receive(sw, 0, 1, frames, 3), NULL);
    frames[1] = (bofuss_frame){bytes, (size_t)-1, 0};
    IS(bofuss_receive(sw, 0, 1, frames, 3), BAD_VALUE);
    uint8_t *large = calloc(1, 1 << 17);
    frames[1] = (bofuss_frame){large, 1 << 17, 0};
    IS(bofuss_receive(sw, 0, 1, frames, 3), NO_MEMORY);
    free(large);
    frames[1] = (bofuss_frame){bytes, 0, 0};
    IS(bofuss_receive(sw, 0, 1, frames, 3), OK);
    IS(bofuss_receive(sw, 0, 9, frames, 1), NO_PORT);

    // For a buffer that is too short, the needed length is stored.
    char text[16];
    frames[0] = (bofuss_frame){bytes, 60, 0};
    IS(bofuss_trace(sw, 0, 1, frames[0], 0, text, sizeof text, &n), TOO_SHORT);
    assert(n > sizeof text);
    IS(bofuss_trace(sw, 0, 1, frames[0], 0, NULL, n + 1, &n), NULL);
    IS(bofuss_trace(sw, 0, 1, frames[1], 0, text, sizeof text, &n), BAD_VALUE);
    char whole[8192];
    frames[0].tunnel_id = 77;
    IS(bofuss_trace(sw, 0, 1, frames[0], 0, whole, sizeof whole, &n), OK);
    assert(strstr(whole, "tun_id=0x4d"));

    bofuss_codec *codec = NULL;
    IS(bofuss_codec_new(NULL), NULL);
    IS(bofuss_codec_new(&codec), OK);
    IS(bofuss_command(codec, 4, 1, NULL, bytes, sizeof bytes, &n), NULL);
    IS(bofuss_command(codec, 9, 1, "features", bytes, sizeof bytes, &n), BAD_VALUE);
    IS(bofuss_command(codec, 4, 1, "add-flow actions=fly", bytes, sizeof bytes, &n), BAD_TEXT);
    assert(strstr(bofuss_codec_error(codec), "fly"));
    IS(bofuss_command(codec, 4, 1, "add-flow actions=drop", bytes, 8, &n), TOO_SHORT);
    IS(bofuss_command(codec, 4, 1, "features", bytes, 8, &n), OK);
    assert(n == 8 && bytes[1] == 5);
    IS(bofuss_message_length(bytes, 7, &n), NONE);
    IS(bofuss_message_length(bytes, 8, &n), OK);
    bytes[3] = 7;
    IS(bofuss_message_length(bytes, 8, &n), BAD_MESSAGE);
    IS(bofuss_message_text(codec, bytes, 8, 0, text, sizeof text, &n), BAD_MESSAGE);
    IS(bofuss_message_text(codec, bytes, 0, 0, text, sizeof text, &n), BAD_MESSAGE);
    IS(bofuss_codec_free(&codec), OK);
    IS(bofuss_codec_free(&codec), NULL);

    bofuss_p4 *p4 = NULL;
    const uint8_t *json = (const uint8_t *)"{}";
    IS(bofuss_p4_new(1, NULL), NULL);
    IS(bofuss_p4_new(1, &p4), OK);
    assert(!*bofuss_p4_error(p4) && !bofuss_p4_error(NULL));
    IS(bofuss_p4_load(NULL, json, 2), NULL);
    IS(bofuss_p4_load(p4, NULL, 2), NULL);
    IS(bofuss_p4_load(p4, json, (size_t)-1), BAD_VALUE);
    IS(bofuss_p4_load(p4, json, 2), BAD_TEXT);
    assert(strstr(bofuss_p4_error(p4), "/: has no __meta__"));
    IS(bofuss_p4_write(p4, json, 1), BAD_TEXT);
    IS(bofuss_p4_write(p4, json, 2), OK);
    IS(bofuss_p4_add_port(p4, 511), BAD_VALUE);
    IS(bofuss_p4_add_port(p4, 0), OK);
    IS(bofuss_p4_receive(p4, 0, 1, frames[0], NULL, NULL), NO_PORT);
    IS(bofuss_p4_receive(p4, 0, 0, (bofuss_frame){NULL, 60, 0}, NULL, NULL), NULL);
    IS(bofuss_p4_receive(p4, 0, 0, frames[0], NULL, NULL), OK);
    IS(bofuss_p4_hold(NULL, 0), NULL);
    IS(bofuss_p4_hold(p4, 1), NO_PORT);
    IS(bofuss_p4_leave(NULL, 0, 0, 1, NULL, NULL), NULL);
    IS(bofuss_p4_leave(p4, 0, 1, 1, NULL, NULL), NO_PORT);
    IS(bofuss_p4_leave(p4, 0, 0, 1, NULL, NULL), OK);
    uint64_t packets;
    IS(bofuss_p4_counter(p4, NULL, 0, &packets, &packets), NULL);
    IS(bofuss_p4_counter(p4, "c", 0, &packets, NULL), NULL);
    IS(bofuss_p4_counter(p4, "c", 0, &packets, &packets), BAD_VALUE);
    IS(bofuss_p4_trace(p4, 0, 0, frames[0], text, sizeof text, &n), TOO_SHORT);
    IS(bofuss_p4_trace(p4, 0, 0, frames[0], NULL, n + 1, &n), NULL);
    IS(bofuss_p4_trace(p4, 0, 1, frames[0], text, sizeof text, &n), NO_PORT);
    IS(bofuss_p4_free(&p4), OK);
    IS(bofuss_p4_free(&p4), NULL);

    // Many instances.
    bofuss_switch *many[50];
    for (int i = 0; i < 50; i++) IS(bofuss_switch_new(0, &config, &callbacks, &many[i]), OK);
    for (int i = 0; i < 50; i++) IS(bofuss_switch_free(&many[i]), OK);
    IS(bofuss_disconnect(sw, 0, connection), OK);
    IS(bofuss_disconnect(sw, 0, connection), NO_CONNECTION);
    IS(bofuss_work(sw, 0), NONE);
    IS(bofuss_switch_free(&sw), OK);
    IS(bofuss_switch_free(&sw), NULL);
    puts("all refused");
    return 0;
}
