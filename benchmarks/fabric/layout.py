"""What makes a machine out of network namespaces, as a list of commands, and nothing is executed here.

A rank is a namespace, a switch is one that forwards, a link is a veth pair with a shaper at each end. A rank
has ONE address, on a bridge without ports (Open MPI ignores loopback), and links are unnumbered: so Open MPI
has no choice of interface, the kernel's routes decide. Beside these a management bridge in a namespace of its
own, in which mpirun runs: nothing is ever put into the namespace of this machine.

Shapers: packets under 128 bytes pass by, since acknowledgements that wait behind data make a link half
duplex; the rest goes through an htb class with a burst of one packet, as what is given away at once is
missing in the time of each message."""
import dataclasses

from machine import next_hops

MTU = 3000  # 1500 costs more of the processors, 9000 is coarser
LEAST = 128  # bytes of a packet that is shaped
SETTINGS = {"net.ipv4.ip_forward": "1", "net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.default.rp_filter": "0",
            "net.ipv4.tcp_congestion_control": "reno",  # bbr, a default here, paces by itself
            "net.ipv4.tcp_slow_start_after_idle": "0", "net.ipv4.tcp_no_metrics_save": "1",
            "net.ipv4.tcp_limit_output_bytes": "20000",  # deeper queues delay what is announced behind what is sent
            "net.ipv4.tcp_rmem": "4096 262144 524288", "net.ipv4.tcp_wmem": "4096 262144 262144"}


@dataclasses.dataclass
class Command:
    words: list
    text: str = ""  # its standard input


def address(node):
    return f"10.99.{node // 250}.{node % 250 + 1}"


def management_address(rank):
    return f"10.98.{rank // 250}.{rank % 250 + 1}"


def namespace(machine, prefix, node):
    return f"{prefix}{'r' if node < machine.ranks else 's'}{node}"


def management(prefix):
    return f"{prefix}mg"


def namespaces(machine, prefix):
    return [namespace(machine, prefix, node) for node in range(machine.nodes)] + [management(prefix)]


def device(to):
    return f"l{to}"


def shaper(rate_mbit):
    burst = MTU + 114
    return ["qdisc add dev {dev} root handle 1: htb default 2",
            "class add dev {dev} parent 1: classid 1:1 htb rate 4gbit burst 64k",
            f"class add dev {{dev}} parent 1: classid 1:2 htb rate {rate_mbit * 1000:.0f}kbit burst {burst} cburst {burst}",
            "qdisc add dev {dev} parent 1:2 bfifo limit 4194304",
            f"filter add dev {{dev}} parent 1: protocol ip u32 match u16 0x0000 {0x10000 - LEAST:#x} at 2 flowid 1:1"]


def make(machine, prefix):
    """In this order. All of it is gone with the namespaces: `remove`."""
    names = namespaces(machine, prefix)
    commands = [Command(["ip", "-batch", "-"], "".join(f"netns add {name}\n" for name in names))]
    for name in names:
        commands.append(Command(["nsenter", f"--net=/run/netns/{name}", "sysctl", "-qw", *(f"{k}={v}" for k, v in SETTINGS.items())]))
    bridge = management(prefix)
    ip = {name: ["link set lo up"] for name in names}
    ip[bridge] += ["link add mg0 type bridge", "addr add 10.98.255.254/16 dev mg0", "link set mg0 up"]
    tc = {name: [] for name in names}
    late = {name: [] for name in names}  # when all links are there
    for rank in range(machine.ranks):
        name = namespace(machine, prefix, rank)
        ip[name] += [f"link add mg0 type veth peer name p{rank} netns {bridge}", f"addr add {management_address(rank)}/16 dev mg0",
                     "link set mg0 up"]
        late[bridge] += [f"link set p{rank} master mg0", f"link set p{rank} up"]
    for node in range(machine.nodes):
        ip[namespace(machine, prefix, node)] += ["link add fab0 type bridge", f"addr add {address(node)}/32 dev fab0", "link set fab0 up"]
    for a, b in machine.pairs():
        here, there = namespace(machine, prefix, a), namespace(machine, prefix, b)
        ip[here] += [f"link add {device(b)} mtu {MTU} type veth peer name {device(a)} mtu {MTU} netns {there}"]
        for src, dst in ((a, b), (b, a)):
            name = namespace(machine, prefix, src)
            late[name] += [f"link set {device(dst)} gso_max_segs 1 txqueuelen 1000", f"link set {device(dst)} up"]
            if machine.capacity.get((src, dst)):  # a wire of one direction only carries acknowledgements the other way
                tc[name] += [line.format(dev=device(dst)) for line in shaper(machine.capacity[src, dst] * machine.unit)]
    for (node, rank), hop in sorted(next_hops(machine).items()):
        via = "" if hop == rank else f"via {address(hop)} "
        late[namespace(machine, prefix, node)].append(
            f"route add {address(rank)}/32 {via}dev {device(hop)} {'onlink ' if via else ''}src {address(node)}")
    for stage in (ip, late):
        commands += [Command(["ip", "-n", name, "-batch", "-"], "\n".join(lines) + "\n") for name, lines in stage.items() if lines]
    commands += [Command(["tc", "-n", name, "-batch", "-"], "\n".join(lines) + "\n") for name, lines in tc.items() if lines]
    return commands


def remove(names):
    return [Command(["ip", "netns", "del", name]) for name in names]
