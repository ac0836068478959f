// Structs and bytes of messages: all vectors of OpenFlow 1.3 are read, written again and freed.
#include "check.h"

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
    ofl_structs_free_match(&match->header, nullptr);
    flow.match = nullptr;
    uint8_t* bytes = nullptr;
    size_t length = 0;
    Check(ofl_msg_pack(&flow.header, 1, &bytes, &length, nullptr) != 0,
          "a flow-mod without a match is refused");
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
    return 0;
}
