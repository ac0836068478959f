// Structs and bytes of messages: all vectors of OpenFlow 1.3 are read, written again and freed.
#include "check.h"

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

using namespace ns3;

struct Sample
{
    std::string text;
    std::vector<uint8_t> bytes;
};

// The vectors of a file: a text, and below it its bytes behind two blanks.
static std::vector<Sample>
Read(const std::string& path)
{
    std::ifstream file(path);
    std::vector<Sample> vectors;
    std::string line;
    while (std::getline(file, line))
    {
        if (line.empty() || line[0] == '#')
        {
            continue;
        }
        if (line.compare(0, 2, "  ") != 0)
        {
            vectors.push_back({line, {}});
            continue;
        }
        std::istringstream digits(line);
        for (std::string word; digits >> word;)
        {
            for (size_t i = 0; i + 1 < word.size(); i += 2)
            {
                vectors.back().bytes.push_back(std::stoul(word.substr(i, 2), nullptr, 16));
            }
        }
    }
    return vectors;
}

// Whether bytes are refused, and leave nothing behind.
static bool
IsRefused(const uint8_t* bytes, size_t length)
{
    std::vector<uint8_t> copy(bytes, bytes + length);
    ofl_msg_header* msg = nullptr;
    return ofl_msg_unpack(copy.data(), length, &msg, nullptr, nullptr) && !msg;
}

// Reads, writes and frees a message; says what became of it.
static std::string
Turn(const Sample& sample)
{
    std::vector<uint8_t> bytes = sample.bytes;
    ofl_msg_header* msg = nullptr;
    uint32_t xid = 0;
    if (ofl_msg_unpack(bytes.data(), bytes.size(), &msg, &xid, nullptr))
    {
        return sample.text.compare(0, 6, "error ") ? "without a struct" : "errors";
    }
    uint8_t* again = nullptr;
    size_t length = 0;
    std::string what = "the same";
    if (ofl_msg_pack(msg, xid, &again, &length, nullptr))
    {
        what = "with a body that is not kept";
    }
    else if (msg->type == OFPT_PACKET_IN)
    {
        what = length >= bytes.size() ? "with more fields" : "with fewer fields";
    }
    else if (std::vector<uint8_t>(again, again + length) != bytes)
    {
        what = msg->type == OFPT_HELLO ? "without its versions" : "different";
        std::cout << what << ": " << sample.text << std::endl;
    }
    std::free(again);
    std::free(ofl_msg_to_string(msg, nullptr));
    ofl_msg_free(msg, nullptr);
    for (size_t cut = 0; cut < bytes.size(); cut++)
    {
        if (!IsRefused(bytes.data(), cut))
        {
            Check(false, sample.text + ": " + std::to_string(cut) + " bytes are refused");
        }
    }
    return what;
}

// What a program puts together is what the text of a command says.
static void
CheckBuilt()
{
    auto* match = static_cast<ofl_match*>(xmalloc(sizeof(ofl_match)));
    ofl_structs_match_init(match);
    ofl_structs_match_put32(match, OXM_OF_IN_PORT, 3);
    ofl_structs_match_put16(match, OXM_OF_ETH_TYPE, 0x0800);
    ofl_structs_match_put32m(match, OXM_OF_IPV4_DST_W, htonl(0x0a000000), htonl(0xff000000));
    char* text = ofl_structs_match_to_string(&match->header, nullptr);
    Check(text == std::string("oxm{in_port=0x3, eth_type=0x800, ipv4_dst=10.0.0.0/255.0.0.0}"),
          text);
    std::free(text);
    Check(oxm_match_lookup(OXM_OF_ETH_TYPE, match) && !oxm_match_lookup(OXM_OF_TCP_DST, match),
          "a match has what was put into it");
    ofl_action_output output{{OFPAT_OUTPUT, 0}, OFPP_CONTROLLER, 128};
    ofl_action_header* action = &output.header;
    ofl_instruction_actions apply{{OFPIT_APPLY_ACTIONS}, 1, &action};
    ofl_instruction_header* instruction = &apply.header;
    ofl_msg_flow_mod flow{};
    flow.header.type = OFPT_FLOW_MOD;
    flow.priority = 7;
    flow.buffer_id = OFP_NO_BUFFER;
    flow.out_port = OFPP_ANY;
    flow.out_group = OFPG_ANY;
    flow.flags = OFPFF_SEND_FLOW_REM | OFPFF_CHECK_OVERLAP;
    flow.match = &match->header;
    flow.instructions_num = 1;
    flow.instructions = &instruction;
    text = ofl_msg_to_string(&flow.header, nullptr);
    Check(text == std::string("OFPT_FLOW_MOD: add table=0,priority=7,send_flow_rem,check_overlap,"
                              "in_port=3,ip,nw_dst=10.0.0.0/8,actions=CONTROLLER:128"),
          text);
    std::free(text);
    // A header of 8 bytes, 40 of the flow-mod, a match of 32, and an instruction with one action.
    Check(ofs::PacketFromMsg(&flow.header, 1)->GetSize() == 104, "a message is a packet");
    ofl_structs_free_match(&match->header, nullptr);
    flow.match = nullptr;
    Check(!ofs::PacketFromMsg(&flow.header), "or none");
    uint8_t* bytes = nullptr;
    size_t length = 0;
    Check(ofl_msg_pack(&flow.header, 1, &bytes, &length, nullptr) != 0,
          "a flow-mod without a match is refused");
}

// A request with a struct, and the struct that its bytes become; the bytes of both are the same.
template <class T>
static T*
Again(ofl_msg_header* request)
{
    uint8_t* bytes[2] = {nullptr, nullptr};
    size_t lengths[2] = {0, 0};
    ofl_msg_header* again = nullptr;
    Check(ofl_msg_pack(request, 1, &bytes[0], &lengths[0], nullptr) == 0, "a struct is written");
    Check(ofl_msg_unpack(bytes[0], lengths[0], &again, nullptr, nullptr) == 0, "and read");
    Check(ofl_msg_pack(again, 1, &bytes[1], &lengths[1], nullptr) == 0, "and written again");
    Check(lengths[0] == lengths[1] && memcmp(bytes[0], bytes[1], lengths[0]) == 0, "as it was");
    std::free(bytes[0]);
    std::free(bytes[1]);
    return reinterpret_cast<T*>(again);
}

// A table as a program describes it is read as it was written.
static void
CheckTableFeatures()
{
    ofl_instruction_header instruction{OFPIT_GOTO_TABLE};
    ofl_table_feature_prop_instructions instructions{{OFPTFPT_INSTRUCTIONS, 0}, 1, &instruction};
    uint8_t next[] = {1, 2, 3};
    ofl_table_feature_prop_next_tables tables{{OFPTFPT_NEXT_TABLES, 0}, 3, next};
    ofl_action_header written[] = {{OFPAT_OUTPUT, 0}, {OFPAT_GROUP, 0}};
    ofl_table_feature_prop_actions actions{{OFPTFPT_WRITE_ACTIONS, 0}, 2, written};
    uint32_t ids[] = {OXM_OF_IN_PORT, OXM_OF_IPV4_DST_W};
    ofl_table_feature_prop_oxm match{{OFPTFPT_MATCH, 0}, 2, ids};
    ofl_table_feature_prop_header* properties[] = {&instructions.header,
                                                   &tables.header,
                                                   &actions.header,
                                                   &match.header};
    char name[] = "first";
    ofl_table_features table{};
    table.table_id = 7;
    table.name = name;
    table.max_entries = 100;
    table.properties_num = 4;
    table.properties = properties;
    ofl_table_features* one = &table;
    ofl_msg_multipart_request_table_features request{};
    request.header.header.type = OFPT_MULTIPART_REQUEST;
    request.header.type = OFPMP_TABLE_FEATURES;
    request.tables_num = 1;
    request.table_features = &one;
    auto* again = Again<ofl_msg_multipart_request_table_features>(&request.header.header);
    Check(again->tables_num == 1, "one table");
    ofl_table_features* read = again->table_features[0];
    Check(read->table_id == 7 && read->name == std::string("first") && read->max_entries == 100 &&
              read->properties_num == 4,
          "a table has its number, its name, its size and its properties");
    auto* fields = reinterpret_cast<ofl_table_feature_prop_oxm*>(read->properties[3]);
    Check(fields->oxm_num == 2 && fields->oxm_ids[1] == OXM_OF_IPV4_DST_W, "fields are headers");
    auto* after = reinterpret_cast<ofl_table_feature_prop_next_tables*>(read->properties[1]);
    Check(after->table_num == 3 && after->next_table_ids[2] == 3, "and the tables behind it");
    auto* kinds = reinterpret_cast<ofl_table_feature_prop_actions*>(read->properties[2]);
    Check(kinds->actions_num == 2 && kinds->action_ids[1].type == OFPAT_GROUP, "and its actions");
    ofl_msg_free(&again->header.header, nullptr);
    request.tables_num = 0;
    request.table_features = nullptr;
    again = Again<ofl_msg_multipart_request_table_features>(&request.header.header);
    Check(again->tables_num == 0, "a request without tables asks for all");
    ofl_msg_free(&again->header.header, nullptr);
}

// A program that frees a message may keep a part of it.
static void
CheckKept()
{
    auto* out = static_cast<ofl_msg_packet_out*>(xcalloc(1, sizeof(ofl_msg_packet_out)));
    out->header.type = OFPT_PACKET_OUT;
    uint8_t frame[] = {1, 2, 3};
    out->data = frame;
    out->data_length = sizeof frame;
    ofl_msg_free_packet_out(out, false, nullptr);
    auto* match = static_cast<ofl_match*>(xmalloc(sizeof(ofl_match)));
    ofl_structs_match_init(match);
    uint8_t address[IPv6_ADDR_LEN] = {0x20, 0x01};
    uint8_t prefix[IPv6_ADDR_LEN] = {0xff, 0xff};
    ofl_structs_match_put_ipv6m(match, OXM_OF_IPV6_SRC_W, address, prefix);
    auto* flow = static_cast<ofl_msg_flow_mod*>(xcalloc(1, sizeof(ofl_msg_flow_mod)));
    flow->header.type = OFPT_FLOW_MOD;
    flow->match = &match->header;
    ofl_msg_free_flow_mod(flow, false, true, nullptr);
    ofl_match_tlv* field = oxm_match_lookup(OXM_OF_IPV6_SRC_W, match);
    Check(field && memcmp(field->value, address, IPv6_ADDR_LEN) == 0 &&
              memcmp(field->value + IPv6_ADDR_LEN, prefix, IPv6_ADDR_LEN) == 0,
          "a match stays that is kept, with the address and its mask");
    ofl_structs_free_match(&match->header, nullptr);
}

int
main(int argc, char** argv)
{
    std::string folder = "../testdata/vectors";
    CommandLine cmd;
    cmd.AddValue("vectors", "the folder of the vectors", folder);
    cmd.Parse(argc, argv);
    std::map<std::string, uint32_t> counts;
    for (const std::string file : {"messages", "multiparts", "rows", "errors"})
    {
        for (const Sample& sample : Read(folder + "/" + file + ".txt"))
        {
            counts[Turn(sample)]++;
        }
    }
    for (const auto& [what, count] : counts)
    {
        std::cout << count << " " << what << std::endl;
    }
    Check(counts["the same"] >= 80 && counts["errors"] >= 60, "vectors are read and written");
    Check(counts["with more fields"] == 1, "a packet-in has the fields of its packet");
    Check(counts["different"] == 0, "no message changes in its struct");
    CheckBuilt();
    CheckTableFeatures();
    CheckKept();
    return 0;
}
