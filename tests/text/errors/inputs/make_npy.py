"""Writes .npy files that cannot be an input: make_npy.py PREFIX"""
import struct
import sys


def npy(text, data=b"", length=None):
    header = text.encode() + b"\n"
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(header) if length is None else length) + header + data


def shape(descr, sizes):
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {sizes}, }}"


FILES = {
    "truncated": npy(shape("<f4", (4, 8)), bytes(100)),
    "header": npy(shape("<f4", (4, 8)), bytes(128), length=0xFFFFFFF0),
    "object": npy(shape("|O", (4, 8)), bytes(256)),
    "huge": npy(shape("<f4", (1 << 62, 1 << 62))),
    "text": b"not an array\n",
    "f64": npy(shape("<f8", (4, 8)), bytes(256)),
}

for name, content in FILES.items():
    with open(f"{sys.argv[1]}.{name}.npy", "wb") as file:
        file.write(content)
