#!/usr/bin/env python3
"""Counts the machine instructions that one call of a function takes in a CUDA kernel. Needs nvcc, no GPU.

    scripts/count_instructions.py [--tokamak PATH] [--nvcc PATH] [--arch sm_90a] [FUNCTION...]

Functions are helpers of device code: exp_f32, to_bf16_f32, ... Each is compiled into a kernel that applies it to the eight elements of a
thread; what a kernel that only copies them has is taken off, and the rest divided by eight. The instructions are those of the cubin's
sections, 16 bytes each, without the padding behind the last; slow paths count, too, so "branches" says whether there are any.
"""
import argparse
import pathlib
import struct
import subprocess
import sys
import tempfile

FUNCTIONS = ("exp_f32 exp2_f32 exp_term_f32 expm1_f32 log_f32 log2_f32 log1p_f32 rsqrt_f32 tanh_f32 one_plus_tanh_f32 erf_f32 one_plus_erf_f32 sigmoid_f32 silu_f32 "
             "maximum_f32 minimum_f32 to_bf16_f32 to_f16_f32 from_bf16_f32 from_f16_f32").split()
ELEMENTS = 8
NOP = 0x918
BRANCHES = {0x943, 0x944, 0x947}  # CALL, CALL to an address in a register, BRA


def types_of(function):
    """The types of an argument and of the result."""
    half = "unsigned short"
    return ("float" if not function.startswith("from_") else half), ("float" if not function.startswith("to_") else half)


def kernel(name, argument, result, call):
    loads = "\n".join(f"  const {argument} x{i} = v.x[{i}];" for i in range(ELEMENTS))
    stores = "\n".join(f"  w.x[{i}] = {call.replace('@', f'x{i}')};" for i in range(ELEMENTS))
    return (f'struct __align__(16) in_{name} {{ {argument} x[{ELEMENTS}]; }};\nstruct __align__(16) out_{name} {{ {result} x[{ELEMENTS}]; }};\n'
            f'extern "C" __global__ void k_{name}(out_{name}* to, const in_{name}* from) {{\n'
            f"  const in_{name} v = from[threadIdx.x];\n  out_{name} w;\n{loads}\n{stores}\n  to[threadIdx.x] = w;\n}}\n")


def source(tokamak, functions):
    text = subprocess.run([tokamak, "info", "--device-code", ",".join(functions)], check=True, capture_output=True, text=True).stdout
    for function in functions:
        argument, result = types_of(function)
        extra = ", 1.0f" if function.startswith(("maximum", "minimum")) else ""
        text += kernel(function, argument, result, f"tk_{function}(@{extra})")
    text += kernel("copy", "float", "float", "@")
    return text


def sections(cubin):
    """Names and contents of an ELF file's sections."""
    table, = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    for name, kind, _, _, offset, length in headers:
        begin = headers[names][4] + name
        yield cubin[begin:cubin.index(b"\0", begin)].decode(), b"" if kind == 8 else cubin[offset:offset + length]


def instructions(cubin):
    """Opcodes by kernel."""
    result = {}
    for name, content in sections(cubin):
        if name.startswith(".text.k_"):
            opcodes = [struct.unpack_from("<H", content, i)[0] & 0xFFF for i in range(0, len(content), 16)]
            while opcodes and opcodes[-1] == NOP:
                opcodes.pop()
            result[name.removeprefix(".text.k_")] = opcodes
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", default=FUNCTIONS)
    parser.add_argument("--tokamak", default="build/release/bin/tokamak")
    parser.add_argument("--nvcc", default="/usr/local/cuda/bin/nvcc")
    parser.add_argument("--arch", default="sm_90a")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        code, cubin = pathlib.Path(folder, "functions.cu"), pathlib.Path(folder, "functions.cubin")
        code.write_text(source(options.tokamak, options.functions))
        compiled = subprocess.run([options.nvcc, "-cubin", f"-arch={options.arch}", "--fmad=false", "-std=c++17", "-w", "-o", cubin, code],
                                  capture_output=True, text=True)
        if compiled.returncode != 0:
            sys.exit(compiled.stdout + compiled.stderr)
        found = instructions(cubin.read_bytes())
    for function in options.functions:
        # Half types take one 16-byte load or store less than the copy.
        around = len(found["copy"]) - sum(t != "float" for t in types_of(function))
        count = (len(found[function]) - around) / ELEMENTS
        branches = sum(o in BRANCHES for o in found[function]) - sum(o in BRANCHES for o in found["copy"])
        print(f"{function:14} {count:7.2f} instructions, {branches} branches")


if __name__ == "__main__":
    main()
