"""What controllers and check agree on: the addresses that are answered for, and who asks."""

ADDRESSES = 10_000
ASKERS = 100
ASKERS_AT, KERNEL_AT, COMPARED_AT = 1, 2, 3
# The host whose kernel has all addresses, too, for comparison.
KERNEL_MAC = '02:00:00:00:00:02'
TABLE_OF_ADDRESSES = {'10.64.%d.%d' % divmod(i, 256): KERNEL_MAC for i in range(ADDRESSES)}
# The addresses that are answered for where each pair of an asker and an address has an entry.
PAIRED_ADDRESSES = list(TABLE_OF_ADDRESSES)[:100]
TABLE_OF_ASKERS = {'02:ee:00:00:00:%02x' % i: '10.1.0.%d' % (1 + i) for i in range(ASKERS)}


def arp_reply(mac, address, to_mac='00:00:00:00:00:00', to_address='0.0.0.0'):
    """An ARP reply: this address is at this MAC address."""
    macs = [bytes.fromhex(text.replace(':', '')) for text in (mac, to_mac)]
    addresses = [bytes(map(int, text.split('.'))) for text in (address, to_address)]
    head = macs[1] + macs[0] + bytes.fromhex('0806 0001 0800 06 04 0002')
    return head + macs[0] + addresses[0] + macs[1] + addresses[1]
