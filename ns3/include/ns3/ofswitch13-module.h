// All of the module.
#ifndef OFSWITCH13_MODULE_H
#define OFSWITCH13_MODULE_H
#include "ns3/ofswitch13-controller.h"
#include "ns3/ofswitch13-device.h"
#include "ns3/ofswitch13-external-helper.h"
#include "ns3/ofswitch13-helper.h"
#include "ns3/ofswitch13-queue.h"
#include "ns3/ofswitch13-stats-calculator.h"
#endif
