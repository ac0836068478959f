// All of the module.
#ifndef OFSWITCH13_MODULE_H
#define OFSWITCH13_MODULE_H
#include "ns3/ofswitch13-controller.h"
#include "ns3/ofswitch13-device.h"
#include "ns3/ofswitch13-device-container.h"
#include "ns3/ofswitch13-external-helper.h"
#include "ns3/ofswitch13-helper.h"
#include "ns3/ofswitch13-interface.h"
#include "ns3/ofswitch13-internal-helper.h"
#include "ns3/ofswitch13-learning-controller.h"
#include "ns3/ofswitch13-link.h"
#include "ns3/ofswitch13-port.h"
#include "ns3/ofswitch13-priority-queue.h"
#include "ns3/ofswitch13-queue.h"
#include "ns3/ofswitch13-socket-handler.h"
#include "ns3/ofswitch13-stats-calculator.h"
#include "ns3/queue-tag.h"
#include "ns3/tunnel-id-tag.h"
#endif
