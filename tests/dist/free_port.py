"""A port for the first rank of a job that a test starts."""
import pathlib
import random
import socket

RANGE = pathlib.Path("/proc/sys/net/ipv4/ip_local_port_range")


def free_port():
    """Nobody listens there, and no connection gets it by itself: those have ports of RANGE, which may be another
    process's before the first rank listens."""
    first_of_range = int(RANGE.read_text(encoding="utf-8").split()[0])
    last = first_of_range if 12000 < first_of_range < 32768 else 32768
    for port in random.sample(range(10000, last), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"100 ports below {last} are taken")
