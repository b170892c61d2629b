#!/usr/bin/env python3
"""Derives the polynomials of src/device_code/source: weighted least squares on Chebyshev points, in 400-bit
arithmetic; those for CUDA with weights that make the largest error small ("even").

    scripts/derive_polynomials.py [NAME...]
    scripts/derive_polynomials.py constants

Coefficients are rounded to the format they are used in from the lowest power up, and the others are fitted again after each
rounding. Prints, per polynomial, the largest weighted error in units of 2^-24 (f32) or 2^-53 (f64), then the coefficients from the highest power
down, as the arguments of tk_horner. Needs mpmath.
"""
import sys

from mpmath import asin, atan, atanh, cos, erf, erfc, exp, expm1, linspace, log, log1p, loggamma, lu_solve, matrix, mp, mpf, nstr, pi, sin, sqrt, tanh

mp.prec = 400
EPS = mpf(2) ** -40


def rounded(value, bits):
    """`value` to `bits` significant bits, nearest even."""
    with_bits = mp.prec
    mp.prec = bits
    result = +value
    mp.prec = with_bits
    return result


def solve(rows, targets, weights):
    """The coefficients with the least sum of squares of weighted errors."""
    size = len(rows[0])
    normal, right = matrix(size, size), matrix(size, 1)
    for target, w, row in zip(targets, weights, rows):
        for i in range(size):
            right[i] += w * w * row[i] * target
            for j in range(size):
                normal[i, j] += w * w * row[i] * row[j]
    return lu_solve(normal, right)


def evened(rows, targets, weights, rounds=40):
    """Weights with which the least squares have errors of about one size everywhere (Lawson's iteration)."""
    factors = [mpf(1)] * len(rows)
    for _ in range(rounds):
        solution = solve(rows, targets, [w * sqrt(f) for w, f in zip(weights, factors)])
        errors = [abs(w * (t - sum(c * r for c, r in zip(solution, row)))) for w, t, row in zip(weights, targets, rows)]
        factors = [f * e for f, e in zip(factors, errors)]
        mean = sum(factors) / len(factors)
        factors = [f / mean for f in factors]
    return [w * sqrt(f) for w, f in zip(weights, factors)]


def fit(function, weight, low, high, degree, bits, power=lambda x: x, even=False):
    """Coefficients c with sum c[k] power(x)^k close to function(x), the error being weighted with weight(x)."""
    count = 6 * (degree + 1) + 20
    points = [(low + high) / 2 + (high - low) / 2 * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    targets = [function(x) for x in points]
    weights = [weight(x) for x in points]
    rows = [[power(x) ** k for k in range(degree + 1)] for x in points]
    if even:
        weights = evened(rows, targets, weights)
    known = []
    for first in range(degree + 1):
        size = degree + 1 - first
        normal, right = matrix(size, size), matrix(size, 1)
        for target, w, row in zip(targets, weights, rows):
            rest = target - sum(c * r for c, r in zip(known, row))
            for i in range(size):
                right[i] += w * w * row[first + i] * rest
                for j in range(i, size):
                    normal[i, j] += w * w * row[first + i] * row[first + j]
        for i in range(size):
            for j in range(i):
                normal[i, j] = normal[j, i]
        solution = lu_solve(normal, right)
        if bits == 53:  # f64: rounding one coefficient hardly moves the others
            known = [rounded(solution[i], bits) for i in range(size)]
            break
        known.append(rounded(solution[0], bits))
    worst = max(abs(weight(x) * (function(x) - sum(c * power(x) ** k for k, c in enumerate(known))))
                for x in linspace(low, high, 1001) if x != 0)
    return known, worst * mpf(2) ** bits


SQUARE = lambda x: x * x
HALF_LN2 = log(2) / 2 * (1 + mpf(2) ** -10)
ROOT_HALF, ROOT_TWO = sqrt(mpf(0.5)), sqrt(mpf(2))
ATANH_END = (ROOT_TWO - 1) / (ROOT_TWO + 1)
QUARTER_PI = pi / 4 * (1 + mpf(2) ** -10)


def scaled_erfc(t):
    """(1 + 2x) exp(x^2) erfc(x) at x = ERFC_POLE (1 + t) / (1 - t)."""
    if t == 1:
        return 2 / sqrt(pi)
    x = ERFC_POLE * (1 + t) / (1 - t)
    if x > 60:
        series = sum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(1, 16)) + 1
        return (1 + 2 * x) * series / (x * sqrt(pi))
    return (1 + 2 * x) * exp(x * x) * erfc(x)


ERFC_POLE = mpf(4)
LN_SQRT_2PI = log(2 * pi) / 2


def log_gamma_pole_free(z):
    """lgamma(2 + z) / (z (1 + z))."""
    if abs(z) < EPS:
        return 1 - mp.euler
    if abs(1 + z) < EPS:
        return mp.euler
    return loggamma(2 + z) / (z * (1 + z))


def stirling(w):
    """(lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x at w = 1 / x^2."""
    if w < mpf(10) ** -10:
        return mpf(1) / 12 - w / 360
    x = 1 / sqrt(w)
    return (loggamma(x) - (x - mpf(0.5)) * log(x) + x - LN_SQRT_2PI) * x


def near(function, value):
    """`function` where it is 0/0 at 0: `value` there. (Close to 0 it is computed with many bits to spare.)"""
    return lambda x: value if abs(x) < mpf(2) ** -60 else function(x)


# name: (function, weight, from, to, degree, bits, power)
POLYNOMIALS = {
    # exp(r) = 1 + r + r^2 Q(r); the weight makes expm1 exact as well.
    "exp_f32": (near(lambda r: (exp(r) - 1 - r) / r**2, mpf(0.5)), near(lambda r: r**2 / expm1(r), mpf(0)),
                -HALF_LN2, HALF_LN2, 5, 24, lambda x: x),
    # 2^r = 1 + r Q(r)
    "exp2_f32": (near(lambda r: (mpf(2) ** r - 1) / r, log(2)), lambda r: r / mpf(2) ** r, mpf(-0.5), mpf(0.5), 6, 24, lambda x: x),
    # log(1 + f) = f - f^2/2 + f^3 Q(f)
    "log_f32": (near(lambda f: (log1p(f) - f + f * f / 2) / f**3, mpf(1) / 3), near(lambda f: f**3 / log1p(f), mpf(0)),
                ROOT_HALF - 1, ROOT_TWO - 1, 8, 24, lambda x: x),
    # erf(x) = x + x Q(x^2) for |x| < 1
    "erf_f32": (near(lambda x: erf(x) / x - 1, 2 / sqrt(pi) - 1), near(lambda x: x / erf(x), sqrt(pi) / 2), mpf(0), mpf(1), 6, 24, SQUARE),
    # erf(x) = 1 - exp(-Q(x)) for 1 <= x <= 4
    "erf_tail_f32": (lambda x: -log(erfc(x)), lambda x: erfc(x) / erf(x), mpf(1), mpf(4), 8, 24, lambda x: x),
    # sin(r) = r + r^3 Q(r^2), cos(r) = 1 - r^2/2 + r^4 Q(r^2), in f64 for f32 results
    "sin_for_f32": (near(lambda r: (sin(r) - r) / r**3, mpf(-1) / 6), near(lambda r: r**3 / sin(r), mpf(0)), mpf(0), QUARTER_PI, 3, 53, SQUARE),
    "cos_for_f32": (near(lambda r: (cos(r) - 1 + r * r / 2) / r**4, mpf(1) / 24), lambda r: r**4 / cos(r), mpf(0), QUARTER_PI, 3, 53, SQUARE),
    # For CUDA. exp(r) = 1 + r Q(r), used twice as large, the error in units of the last place; with one coefficient
    # more, 2^-32 times as large, for sigmoid and silu.
    "exp_cuda_f32": (near(lambda r: expm1(r) / r, mpf(1)), lambda r: r if r < 0 else r / 2, -HALF_LN2, HALF_LN2, 4, 24, lambda x: x, True),
    "exp_falling_cuda_f32": (near(lambda r: expm1(r) / r, mpf(1)), lambda r: r / exp(r), -HALF_LN2, HALF_LN2, 5, 24, lambda x: x, True),
    # 2^r = 1 + r Q(r), used twice as large
    "exp2_cuda_f32": (near(lambda r: (mpf(2) ** r - 1) / r, log(2)), lambda r: r if r < 0 else r / 2, mpf(-0.5), mpf(0.5), 4, 24, lambda x: x, True),
    # exp(r) = 1 + r + r^2 Q(r), exact for expm1 as well
    "expm1_cuda_f32": (near(lambda r: (exp(r) - 1 - r) / r**2, mpf(0.5)), near(lambda r: r**2 / expm1(r), mpf(0)),
                       -HALF_LN2, HALF_LN2, 4, 24, lambda x: x, True),
    # log(1 + f) = f + f^2 Q(f)
    "log_cuda_f32": (near(lambda f: (log1p(f) - f) / f**2, mpf(-0.5)), near(lambda f: f**2 / log1p(f), mpf(0)),
                     ROOT_HALF - 1, ROOT_TWO - 1, 7, 24, lambda x: x, True),
    # log2(1 + f) = f Q(f)
    "log2_cuda_f32": (near(lambda f: log1p(f) / (f * log(2)), 1 / log(2)), near(lambda f: f * log(2) / log1p(f), log(2)),
                      ROOT_HALF - 1, ROOT_TWO - 1, 8, 24, lambda x: x, True),
    # tanh(x) = x (1 + x^2 Q(x^2)) for |x| < 0.8
    "tanh_cuda_f32": (near(lambda x: (tanh(x) / x - 1) / x**2, mpf(-1) / 3), near(lambda x: x**3 / tanh(x), mpf(0)),
                      mpf(0), mpf("0.8"), 4, 24, SQUARE, True),
    # erf(x) = x + x Q(x^2) for |x| < 1, 1 - 2^Q(x) from there on
    "erf_cuda_f32": (near(lambda x: erf(x) / x - 1, 2 / sqrt(pi) - 1), near(lambda x: x / erf(x), sqrt(pi) / 2), mpf(0), mpf(1), 5, 24, SQUARE, True),
    "erf_tail_cuda_f32": (lambda x: log(erfc(x)) / log(2), lambda x: erfc(x) * log(2) / erf(x), mpf(1), mpf(4), 5, 24, lambda x: x, True),
    # 1 + erf(-x) = erfc(x) = 2^(x Q(x)), the error absolute; Q falls beyond 4
    "one_plus_erf_cuda_f32": (near(lambda x: log(erfc(x)) / (x * log(2)), -2 / (sqrt(pi) * log(2))), lambda x: erfc(x) * log(2) * x,
                              mpf(0), mpf(4), 7, 24, lambda x: x, True),
    "exp_f64": (near(lambda r: (exp(r) - 1 - r) / r**2, mpf(0.5)), near(lambda r: r**2 / expm1(r), mpf(0)),
                -HALF_LN2, HALF_LN2, 10, 53, lambda x: x),
    "exp2_f64": (near(lambda r: (mpf(2) ** r - 1 - r * log(2)) / r**2, log(2) ** 2 / 2), lambda r: r**2 / mpf(2) ** r, mpf(-0.5), mpf(0.5), 10, 53, lambda x: x),
    # 2 atanh(s) = 2s + s^3 Q(s^2)
    "log_f64": (near(lambda s: (2 * atanh(s) - 2 * s) / s**3, mpf(2) / 3), near(lambda s: s**3 / (2 * atanh(s)), mpf(0)),
                mpf(0), ATANH_END * (1 + EPS), 7, 53, SQUARE),
    # 2 atanh(s) = 2s + 2/3 s^3 + s^5 Q(s^2)
    "log_tail_f64": (near(lambda s: (2 * atanh(s) - 2 * s - 2 * s**3 / 3) / s**5, mpf(2) / 5), near(lambda s: s**5 / (2 * atanh(s)), mpf(0)),
                     mpf(0), ATANH_END * (1 + EPS), 7, 53, SQUARE),
    "sin_f64": (near(lambda r: (sin(r) - r) / r**3, mpf(-1) / 6), near(lambda r: r**3 / sin(r), mpf(0)), mpf(0), QUARTER_PI, 6, 53, SQUARE),
    "cos_f64": (near(lambda r: (cos(r) - 1 + r * r / 2) / r**4, mpf(1) / 24), lambda r: r**4 / cos(r), mpf(0), QUARTER_PI, 6, 53, SQUARE),
    # atan(t) = t + t^3 Q(t^2)
    "atan_f64": (near(lambda t: (atan(t) - t) / t**3, mpf(-1) / 3), near(lambda t: t**3 / atan(t), mpf(0)), mpf(0), mpf("0.41422"), 11, 53, SQUARE),
    # asin(x) = x + x^3 Q(x^2)
    "asin_f64": (near(lambda x: (asin(x) - x) / x**3, mpf(1) / 6), near(lambda x: x**3 / asin(x), mpf(0)), mpf(0), mpf(0.5), 13, 53, SQUARE),
    "erf_f64": (near(lambda x: erf(x) / x - 1, 2 / sqrt(pi) - 1), near(lambda x: x / erf(x), sqrt(pi) / 2), mpf(0), mpf(1), 13, 53, SQUARE),
    # (1 + 2x) exp(x^2) erfc(x) = Q(t), t = (x - 4) / (x + 4), x >= 1/2
    "erfc_f64": (scaled_erfc, lambda t: 1 / scaled_erfc(t), (mpf(0.5) - ERFC_POLE) / (mpf(0.5) + ERFC_POLE),
                 (mpf(28) - ERFC_POLE) / (mpf(28) + ERFC_POLE), 20, 53, lambda x: x),
    # lgamma(2 + z) = z (1 + z) Q(z) for z in [-1, 1]: two halves
    "lgamma_low_f64": (lambda z: log_gamma_pole_free(z - mpf(0.5)), lambda z: 1 / log_gamma_pole_free(z - mpf(0.5)), mpf(-0.5), mpf(0.5), 21, 53, lambda x: x),
    "lgamma_high_f64": (lambda z: log_gamma_pole_free(z + mpf(0.5)), lambda z: 1 / log_gamma_pole_free(z + mpf(0.5)), mpf(-0.5), mpf(0.5), 17, 53, lambda x: x),
    # lgamma(x) = (x - 1/2) log x - x + log(2 pi) / 2 + Q(1 / x^2) / x for x >= 8
    "stirling_f64": (stirling, lambda w: sqrt(w) * 12, mpf(0), mpf(1) / 64, 7, 53, lambda x: x),
}


def print_iterations():
    """2^k mod 2 pi for k = 1, ..., 104, nearest to 0: a multiple of 2^-27 and the rest, for the f32 reduction of sin and cos."""
    print("powers_mod_turn: 2^k mod 2 pi in two parts")
    for k in range(1, 105):
        rest = mpf(2) ** k - mp.nint(mpf(2) ** k / (2 * pi)) * 2 * pi
        high = mp.nint(rest * 2**27) / 2**27
        print(f"  {literal(high, 53)}, {literal(rounded(rest - high, 53), 53)},")


def print_constants():
    """Constants that are used in parts: every part has as many bits as said, the rest goes to the next."""
    two_over_pi = mp.floor(2 / pi * mpf(2) ** 1280)
    print("two_over_pi: " + " ".join(f"0x{int(two_over_pi) >> (1280 - 64 * (i + 1)) & (2**64 - 1):016x}" for i in range(20)))
    for name, value, parts in [("log 2 (f32)", log(2), [24, 24]), ("log 2", log(2), [53, 53]), ("log 2, n times exact", log(2), [42, 53]),
                               ("1 / log 2 (f32)", 1 / log(2), [24, 24]), ("1 / log 2", 1 / log(2), [53, 53]),
                               ("1 / log 10", 1 / log(10), [53, 53]), ("pi / 2", pi / 2, [53, 53, 53]), ("2 / pi", 2 / pi, [53])]:
        printed = []
        for bits in parts:
            printed.append(literal(rounded(value, bits), 24 if bits == 24 else 53))
            value -= rounded(value, bits)
        print(f"{name}: {' '.join(printed)}")


def literal(value, bits):
    text = nstr(value, 9 if bits == 24 else 17, min_fixed=-5, max_fixed=20)
    assert rounded(mpf(text), bits) == value
    if "." not in text and "e" not in text:
        text += ".0"
    return text + ("f" if bits == 24 else "")


def main():
    mp.prec = 1500 if sys.argv[1:] == ["constants"] else 400
    if sys.argv[1:] == ["constants"]:
        print_iterations()
        print_constants()
        return
    for name in sys.argv[1:] or POLYNOMIALS:
        coefficients, worst = fit(*POLYNOMIALS[name])
        bits = POLYNOMIALS[name][5]
        print(f"{name}: largest error {nstr(worst, 3)} of 2^-{bits}")
        for c in reversed(coefficients):
            print("  " + literal(c, bits))


if __name__ == "__main__":
    main()
