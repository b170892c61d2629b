#!/usr/bin/env python3
"""Tries the f32 functions of CUDA kernels on every f32, on a GPU, against CUDA's functions in double precision. Needs cupy.

    scripts/gpu_functions.py [--tokamak PATH] [--json FILE] [--print] [FUNCTION...]

Prints, per function, the largest error in units of the last place and the argument where it is, and adds a line with them to FILE. Then
does the same for the instructions whose documented errors the functions rely on: there it counts the floats between the result and the
correctly rounded one, and says the largest relative error. --print prints the CUDA program instead, without a GPU. Exits 1 if something is
worse than src/device_code/README.md promises or assumes.
"""
import argparse
import json
import math
import struct
import subprocess
import sys

PROMISED = 2.0
PROMISED_MORE = {"tanh": 4.0, "erf": 4.0, "silu": 4.0, "exp_term": 132.0}
REFERENCES = {"sigmoid": "1.0 / (1.0 + exp(-x))", "silu": "x / (1.0 + exp(-x))",
              "exp_term": "(tk_exp_term_f32((float)x) == 0.0f && exp(x) < 1.1756e-38 ? 0.0 : exp(x))", "rsqrt": "1.0 / sqrt(x)"}
# Sums with 1, whose errors are absolute and counted in 2^-24, half a unit in the last place of 1: what they are and
# what is promised.
SUMS = {"one_plus_erf": ("erfc(-x)", 4.0), "one_plus_tanh": ("2.0 / (1.0 + exp(-2.0 * x))", 4.0)}
# What is assumed of an instruction: its exact result, and the largest distance in floats from that result rounded, or
# else the largest relative error.
INSTRUCTIONS = {"ex2_approx": ("exp2(x)", 2, None), "rcp_approx": ("1.0 / x", 1, None),
                "rsqrt_approx": ("1.0 / sqrt(x)", None, 2.0**-22.9)}

COMMON = r"""
/* The distance of a result from the exact one in units of the last place of f32; 1e30 where one is NaN, infinite or a zero of
   the other sign, and the other is not. */
static __device__ double error_in_ulp(float got, double expected) {
  if (isnan(got) || isnan(expected)) return isnan(got) && isnan(expected) ? 0.0 : 1e30;
  if (isinf(expected)) return isinf(got) && (got > 0.0f) == (expected > 0.0) ? 0.0 : 1e30;
  if (got == 0.0f && signbit(got) != signbit(expected)) return 1e30;
  const double above_all = 340282366920938463463374607431768211456.0;
  const double value = isinf(got) ? copysign(above_all, (double)got) : (double)got;
  const double bounded = fabs(expected) > above_all ? copysign(above_all, expected) : expected;
  int exponent = 0;
  frexp(bounded, &exponent);
  exponent = exponent < -125 ? -125 : exponent > 128 ? 128 : exponent;
  return ldexp(fabs(value - bounded), 24 - exponent);
}
/* The distance of a sum with 1 in 2^-24; at 0 and where f(x) is -1 or 1 it must be 0. */
static __device__ double error_beside_one(float x, float got, double expected) {
  if (isnan(got) || isnan(expected)) return error_in_ulp(got, expected);
  if (x == 0.0f || fabsf(x) > 1000.0f) return got == expected ? 0.0 : 1e30;
  return fabs(got - expected) * 16777216.0;
}
/* Keeps the larger error with its argument; an error's bits, it being positive, are in the order of errors. */
static __device__ void keep(unsigned long long* worst, double error, unsigned bits) {
  const unsigned long long mine = (unsigned long long)__float_as_uint((float)error) << 32 | bits;
  if (mine > *worst) atomicMax(worst, mine);
}
"""

CHECK = r"""
extern "C" __global__ void check_@(unsigned long long begin, unsigned long long end, unsigned long long* worst) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  unsigned long long mine = 0;
  for (unsigned long long i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
    const float argument = __uint_as_float((unsigned)i);
    const double x = argument;
    const double error = error_#tk_@_f32(argument), $);
    const unsigned long long found = (unsigned long long)__float_as_uint((float)error) << 32 | (unsigned)i;
    if (error > 0.0 && found > mine) mine = found;
  }
  if (mine > *worst) atomicMax(worst, mine);
}
extern "C" __global__ void at_@(unsigned bits, double* values) {
  const double x = __uint_as_float(bits);
  values[0] = tk_@_f32(__uint_as_float(bits));
  values[1] = $;
}
"""

INSTRUCTION_CHECK = r"""
extern "C" __global__ void check_@(unsigned long long begin, unsigned long long end, unsigned long long* worst) {
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += step) {
    const float argument = __uint_as_float((unsigned)i);
    const double x = argument;
    const double exact = $;
    const float rounded = (float)exact, got = tk_@_f32(argument);
    /* Subnormals are not looked at: the instruction makes them 0. */
    if (!(fabsf(argument) >= 1.17549435e-38f) || !(fabsf(rounded) >= 1.17549435e-38f) || isinf(rounded)) continue;
    const long long distance = (long long)__float_as_int(got) - __float_as_int(rounded);
    keep(worst, isnan(got) ? 1e30 : (double)(distance < 0 ? -distance : distance), (unsigned)i);
    keep(worst + 1, isnan(got) ? 1e30 : fabs(got - exact) / fabs(exact), (unsigned)i);
  }
}
"""


def program(tokamak, functions):
    helpers = ",".join(f"{name}_f32" for name in [*functions, *INSTRUCTIONS])
    text = subprocess.run([tokamak, "info", "--device-code", helpers], check=True, capture_output=True, text=True).stdout + COMMON
    for name in functions:
        reference = SUMS[name][0] if name in SUMS else REFERENCES.get(name, f"{name}(x)")
        text += CHECK.replace("#", "beside_one(argument, " if name in SUMS else "in_ulp(").replace("@", name).replace("$", reference)
    for name, (reference, _, _) in INSTRUCTIONS.items():
        text += INSTRUCTION_CHECK.replace("@", name).replace("$", reference)
    return text


def approximated(tokamak):
    """The functions of one operand that the table calls approximated."""
    table = subprocess.run([tokamak, "info", "--functions"], check=True, capture_output=True, text=True).stdout
    return [row["name"] for row in json.loads(table) if row["accuracy"] == "approx" and row["operands"] == 1]


def unpacked(word):
    """An error and its argument."""
    error, = struct.unpack("f", struct.pack("I", int(word) >> 32))
    argument, = struct.unpack("f", struct.pack("I", int(word) & 0xFFFFFFFF))
    return error, argument, f"0x{int(word) & 0xFFFFFFFF:08x}"


def sweep(cupy, module, name, chunk=1 << 28):
    """The words that the check of `name` leaves after every f32."""
    worst = cupy.zeros(2, dtype=cupy.uint64)
    kernel = module.get_function(f"check_{name}")
    for begin in range(0, 1 << 32, chunk):
        kernel((2048,), (256,), (cupy.uint64(begin), cupy.uint64(begin + chunk), worst))
    return [int(word) for word in worst.get()]


def check_function(cupy, module, name):
    word = sweep(cupy, module, name)[0]
    error, argument, bits = unpacked(word)
    values = cupy.zeros(2, dtype=cupy.float64)
    module.get_function(f"at_{name}")((1,), (1,), (cupy.uint32(word & 0xFFFFFFFF), values))
    got, expected = (float(v) for v in values.get())
    promised = SUMS[name][1] if name in SUMS else PROMISED_MORE.get(name, PROMISED)
    print(f"{name:13} {error:8.3f} {'2^-24' if name in SUMS else 'ulp'} at {argument!r} ({bits}): {got!r}, exact {expected!r}; promised {promised}", flush=True)
    return {"function": f"{name}_f32", "halves_of_one_ulp" if name in SUMS else "ulps": error, "x": repr(argument), "bits": bits, "got": repr(got), "expected": repr(expected),
            "promised": promised, "ok": error <= promised}


def check_instruction(cupy, module, name):
    distance, relative = (unpacked(word) for word in sweep(cupy, module, name))
    _, floats, error = INSTRUCTIONS[name]
    ok = distance[0] <= floats if floats is not None else relative[0] <= error * (1 + 2.0**-20)
    exponent = math.log2(relative[0]) if relative[0] > 0 else -math.inf
    print(f"{name:12} {distance[0]:8.0f} floats from the rounded result at {distance[1]!r} ({distance[2]}), relative error "
          f"2^{exponent:.3f} at {relative[1]!r} ({relative[2]}); assumed {floats if floats is not None else f'2^{math.log2(error):.1f}'}",
          flush=True)
    return {"instruction": name, "floats": distance[0], "bits": distance[2], "relative": relative[0], "relative_log2": repr(exponent),
            "relative_bits": relative[2], "ok": ok}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("functions", nargs="*", help="exp, tanh, ...; all that are approximated, and sums with 1, when none is named")
    parser.add_argument("--tokamak", default="build/gpu/bin/tokamak")
    parser.add_argument("--json")
    parser.add_argument("--print", action="store_true")
    options = parser.parse_args()
    functions = options.functions or [*approximated(options.tokamak), *SUMS]
    text = program(options.tokamak, functions)
    if options.print:
        print(text)
        return
    import cupy

    # Compiled here: RawModule flushes subnormal numbers to zero.
    from cupy.cuda import function, nvrtc

    program_handle = nvrtc.createProgram(text, "functions.cu", [], [])
    nvrtc.compileProgram(program_handle, ("--std=c++17", "--fmad=false", "--gpu-architecture=sm_90a"))
    module = function.Module()
    module.load(nvrtc.getCUBIN(program_handle))
    rows = [check_function(cupy, module, name) for name in functions]
    rows += [check_instruction(cupy, module, name) for name in INSTRUCTIONS]
    if options.json:
        with open(options.json, "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    bad = [row.get("function", row.get("instruction")) for row in rows if not row["ok"]]
    print(f"functions: {len(rows) - len(bad)} as promised" + (f", not: {', '.join(bad)}" if bad else ""))
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
