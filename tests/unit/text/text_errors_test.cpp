// Every way to write a wrong text, with the exact message: {what is wrong, the text, "[code] message"}.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ir/text/fusion_parser.h"
#include "unit/schedule/loop_commands.h"

namespace tokamak {
namespace {

struct WrongText {
  const char* title;
  const char* text;
  const char* message;
};

// clang-format off
const WrongText kWrongTexts[] = {
    {"an empty text",
     "",
     "[parse] t.fusion:1:1: unexpected end of the text; expected 'fusion'\n"
     "\n"
     "^"},
    {"another word than fusion",
     "fusio f() -> () {}",
     "[parse] t.fusion:1:1: unexpected 'fusio'; expected 'fusion'\n"
     "fusio f() -> () {}\n"
     "^"},
    {"no name",
     "fusion (T0: f32[]) -> T0 {}",
     "[parse] t.fusion:1:8: unexpected '('; expected the fusion's name\n"
     "fusion (T0: f32[]) -> T0 {}\n"
     "       ^"},
    {"an input without a type",
     "fusion f(T0) -> T0 {}",
     "[parse] t.fusion:1:12: unexpected ')'; expected ':'\n"
     "fusion f(T0) -> T0 {}\n"
     "           ^"},
    {"an unknown type",
     "fusion f(T0: fp32[i0]) -> T0 {}",
     "[parse] t.fusion:1:14: unknown type 'fp32'; expected f64, f32, f16, bf16, i64, i32 or bool; did you mean 'f32'?\n"
     "fusion f(T0: fp32[i0]) -> T0 {}\n"
     "             ^"},
    {"a type that is nothing like one",
     "fusion f(T0: quaternion[i0]) -> T0 {}",
     "[parse] t.fusion:1:14: unknown type 'quaternion'; expected f64, f32, f16, bf16, i64, i32 or bool\n"
     "fusion f(T0: quaternion[i0]) -> T0 {}\n"
     "             ^"},
    {"a type without axes",
     "fusion f(T0: f32) -> T0 {}",
     "[parse] t.fusion:1:17: unexpected ')'; expected '['\n"
     "fusion f(T0: f32) -> T0 {}\n"
     "                ^"},
    {"an axis that is missing",
     "fusion f(T0: f32[i0,]) -> T0 {}",
     "[parse] t.fusion:1:21: unexpected ']'; expected a scalar: a number, a name, a call or '('\n"
     "fusion f(T0: f32[i0,]) -> T0 {}\n"
     "                    ^"},
    {"axes without a comma",
     "fusion f(T0: f32[i0 i2]) -> T0 {}",
     "[parse] t.fusion:1:21: unexpected 'i2'; expected ',' or ']'\n"
     "fusion f(T0: f32[i0 i2]) -> T0 {}\n"
     "                    ^"},
    {"a floating extent",
     "fusion f(T0: f32[0.5]) -> T0 {}",
     "[parse] t.fusion:1:18: 0.5 is no extent; expected an integer that is not negative\n"
     "fusion f(T0: f32[0.5]) -> T0 {}\n"
     "                 ^"},
    {"a negative extent",
     "fusion f(T0: f32[-4]) -> T0 {}",
     "[parse] t.fusion:1:18: -4 is no extent; expected an integer that is not negative\n"
     "fusion f(T0: f32[-4]) -> T0 {}\n"
     "                 ^"},
    {"an expanded axis that is no broadcast axis",
     "fusion f(T0: f32[i0 ex 4]) -> T0 {}",
     "[parse] t.fusion:1:21: only a broadcast axis can be expanded; expected '1 ex' before the shown size\n"
     "fusion f(T0: f32[i0 ex 4]) -> T0 {}\n"
     "                    ^"},
    {"a stride of a broadcast axis",
     "fusion f(T0: f32[1 strided]) -> T0 {}",
     "[parse] t.fusion:1:18: a broadcast or reduction axis has no stride; expected 'strided' after an axis with elements only\n"
     "fusion f(T0: f32[1 strided]) -> T0 {}\n"
     "                 ^"},
    {"an unknown kind of axis",
     "fusion f(T0: f32[q{4}]) -> T0 {}",
     "[parse] t.fusion:1:18: unexpected 'q'; expected a kind of axis: i, r, b, s, n, v or ?\n"
     "fusion f(T0: f32[q{4}]) -> T0 {}\n"
     "                 ^"},
    {"a type's name as an extent",
     "fusion f(T0: f32[f32]) -> T0 {}",
     "[parse] t.fusion:1:18: unknown scalar 'f32'; expected the name of an extent or of a scalar input\n"
     "fusion f(T0: f32[f32]) -> T0 {}\n"
     "                 ^"},
    {"an unknown kind of memory",
     "fusion f(T0: f32[i0] in attic) -> T0 {}",
     "[parse] t.fusion:1:25: unexpected 'attic'; expected a kind of memory: device, pinned or host\n"
     "fusion f(T0: f32[i0] in attic) -> T0 {}\n"
     "                        ^"},
    {"an unknown type of memory",
     "fusion f(T0: f32[i0] as gobal) -> T0 {}",
     "[parse] t.fusion:1:25: unexpected 'gobal'; expected a type of memory: local, shared, global or tensor\n"
     "fusion f(T0: f32[i0] as gobal) -> T0 {}\n"
     "                        ^"},
    {"memory said twice",
     "fusion f(T0: f32[i0] in host in host) -> T0 {}",
     "[parse] t.fusion:1:30: 'in' is given twice; expected it once\n"
     "fusion f(T0: f32[i0] in host in host) -> T0 {}\n"
     "                             ^"},
    {"a stride order of another rank",
     "fusion f(T0: f32[i0, i2] stride_order(0)) -> T0 {}",
     "[parse] t.fusion:1:14: stride_order(0) is no order of 2 axes; expected each number from 0 to 1 once\n"
     "fusion f(T0: f32[i0, i2] stride_order(0)) -> T0 {}\n"
     "             ^"},
    {"a stride order with a repetition",
     "fusion f(T0: f32[i0, i2] stride_order(0, 0)) -> T0 {}",
     "[parse] t.fusion:1:14: stride_order(0, 0) is no order of 2 axes; expected each number from 0 to 1 once\n"
     "fusion f(T0: f32[i0, i2] stride_order(0, 0)) -> T0 {}\n"
     "             ^"},
    {"an allocation out of range",
     "fusion f(T0: f32[i0, i2] allocation(0, 2)) -> T0 {}",
     "[parse] t.fusion:1:14: allocation(0, 2) is no order of 2 axes; expected each number from 0 to 1 once\n"
     "fusion f(T0: f32[i0, i2] allocation(0, 2)) -> T0 {}\n"
     "             ^"},
    {"contiguity of another rank",
     "fusion f(T0: f32[i0, i2] contiguity(true)) -> T0 {}",
     "[parse] t.fusion:1:14: contiguity has 1 values for 2 axes; expected one for each\n"
     "fusion f(T0: f32[i0, i2] contiguity(true)) -> T0 {}\n"
     "             ^"},
    {"contiguity of another form",
     "fusion f(T0: f32[i0] contiguity(yes)) -> T0 {}",
     "[parse] t.fusion:1:33: unexpected 'yes'; expected true, false or none\n"
     "fusion f(T0: f32[i0] contiguity(yes)) -> T0 {}\n"
     "                                ^"},
    {"a partial that is combined by no reduction",
     "fusion f(T0: f32[i0] mesh(0, 1) partial(mean, DIDx)) -> T0 {}",
     "[parse] t.fusion:1:41: unexpected 'mean'; expected how the terms are combined: sum, prod, max or min\n"
     "fusion f(T0: f32[i0] mesh(0, 1) partial(mean, DIDx)) -> T0 {}\n"
     "                                        ^"},
    {"a partial over threads",
     "fusion f(T0: f32[i0] mesh(0, 1) partial(sum, TIDx)) -> T0 {}",
     "[parse] t.fusion:1:46: unexpected 'TIDx'; expected a device axis: DIDx, DIDy or DIDz\n"
     "fusion f(T0: f32[i0] mesh(0, 1) partial(sum, TIDx)) -> T0 {}\n"
     "                                             ^"},
    {"a mesh of unequal rows",
     "fusion f(T0: f32[i0] mesh((0, 1), (2))) -> T0 {}",
     "[parse] t.fusion:1:37: all rows of a mesh must be equally long\n"
     "fusion f(T0: f32[i0] mesh((0, 1), (2))) -> T0 {}\n"
     "                                    ^"},
    {"a mesh of rows and rows of rows",
     "fusion f(T0: f32[i0] mesh((0, 1), ((2, 3)))) -> T0 {}",
     "[parse] t.fusion:1:35: all rows of a mesh must be equally deep\n"
     "fusion f(T0: f32[i0] mesh((0, 1), ((2, 3)))) -> T0 {}\n"
     "                                  ^"},
    {"a mesh of many dimensions",
     "fusion f(T0: f32[i0] mesh(((((((((0)))))))))) -> T0 {}",
     "[parse] t.fusion:1:34: a mesh has at most 8 dimensions\n"
     "fusion f(T0: f32[i0] mesh(((((((((0)))))))))) -> T0 {}\n"
     "                                 ^"},
    {"a mesh without devices",
     "fusion f(T0: f32[i0] mesh()) -> T0 {}",
     "[parse] t.fusion:1:27: unexpected ')'; expected the number of a device\n"
     "fusion f(T0: f32[i0] mesh()) -> T0 {}\n"
     "                          ^"},
    {"a mesh without an end",
     "fusion f(T0: f32[i0] mesh(0 1)) -> T0 {}",
     "[parse] t.fusion:1:29: unexpected '1'; expected ',' or ')'\n"
     "fusion f(T0: f32[i0] mesh(0 1)) -> T0 {}\n"
     "                            ^"},
    {"a scalar named like a type",
     "fusion f(f32: f32) -> () {}",
     "[parse] t.fusion:1:10: 'f32' cannot be a name; expected one that is no type, no number of a tensor and no reserved word\n"
     "fusion f(f32: f32) -> () {}\n"
     "         ^"},
    {"a scalar named like a tensor out of range",
     "fusion f(T99999999999: f32) -> () {}",
     "[parse] t.fusion:1:10: 'T99999999999' cannot be a name; expected one that is no type, no number of a tensor and no reserved word\n"
     "fusion f(T99999999999: f32) -> () {}\n"
     "         ^"},
    {"a scalar input twice",
     "fusion f(s: f32, s: f32) -> () {}",
     "[parse] t.fusion:1:18: 's' is already an input of type f32; expected another name\n"
     "fusion f(s: f32, s: f32) -> () {}\n"
     "                 ^"},
    {"a scalar of another type than the extent",
     "fusion f(T0: f32[n], n: i32) -> T0 {}",
     "[parse] t.fusion:1:22: 'n' is already an extent of type i64; expected another name\n"
     "fusion f(T0: f32[n], n: i32) -> T0 {}\n"
     "                     ^"},
    {"a tensor twice",
     "fusion f(T0: f32[], T0: f32[]) -> T0 {}",
     "[parse] t.fusion:1:21: 'T0' is defined twice; expected a name that is not taken\n"
     "fusion f(T0: f32[], T0: f32[]) -> T0 {}\n"
     "                    ^"},
    {"no arrow",
     "fusion f(T0: f32[]) { }",
     "[parse] t.fusion:1:21: unexpected '{'; expected '->'\n"
     "fusion f(T0: f32[]) { }\n"
     "                    ^"},
    {"no body",
     "fusion f(T0: f32[]) -> T0",
     "[parse] t.fusion:1:26: unexpected end of the text; expected the outputs, then '{'\n"
     "fusion f(T0: f32[]) -> T0\n"
     "                         ^"},
    {"a body that is not closed",
     "fusion f(T0: f32[]) -> T1 {\n  T1 = exp(T0)\n",
     "[parse] t.fusion:2:15: unexpected end of the text; expected a statement such as 'y = exp(x)', 'symbol', or '}'\n"
     "  T1 = exp(T0)\n"
     "              ^"},
    {"an output that nothing gives",
     "fusion f(T0: f32[]) -> T5 {}",
     "[parse] t.fusion:1:24: 'T5' is not defined; expected an input or a result of a line above\n"
     "fusion f(T0: f32[]) -> T5 {}\n"
     "                       ^"},
    {"an output that is no tensor",
     "fusion f(T0: f32[]) -> 1 {}",
     "[parse] t.fusion:1:24: unexpected '1'; expected the name of a tensor\n"
     "fusion f(T0: f32[]) -> 1 {}\n"
     "                       ^"},
    {"outputs without a comma",
     "fusion f(T0: f32[]) -> (T0 T0) {}",
     "[parse] t.fusion:1:28: unexpected 'T0'; expected ',' or ')'\n"
     "fusion f(T0: f32[]) -> (T0 T0) {}\n"
     "                           ^"},
    {"hidden without an alias",
     "fusion f(T0: f32[]) -> T0 hidden {}",
     "[parse] t.fusion:1:27: unexpected 'hidden'; expected ',' or '{'\n"
     "fusion f(T0: f32[]) -> T0 hidden {}\n"
     "                          ^"},
    {"an alias of something that is no input",
     "fusion f(T0: f32[]) -> T1 aliases T2 {\n  T1 = exp(T0)\n  T2 = exp(T0)\n}",
     "[definition] alias: the target of T1: f32[] must be an input tensor\n"
     "  at t.fusion:1:35\n"
     "    fusion f(T0: f32[]) -> T1 aliases T2 {\n"
     "                                      ^"},
    {"an alias of another type",
     "fusion f(T0: f32[i0]) -> T1 aliases T0 {\n  T1 = cast(T0, dtype=f64)\n}",
     "[definition] alias: T1: f64[i0] cannot be written into T0: f32[i0]; type and rank must be the same\n"
     "  at t.fusion:1:37\n"
     "    fusion f(T0: f32[i0]) -> T1 aliases T0 {\n"
     "                                        ^"},
    {"two aliases of one output",
     "fusion f(T0: f32[]) -> (T1 aliases T0, T1 aliases T0) {\n  T1 = exp(T0)\n}",
     "[parse] t.fusion:1:40: 'T1' already aliases an input; expected one alias for each output\n"
     "fusion f(T0: f32[]) -> (T1 aliases T0, T1 aliases T0) {\n"
     "                                       ^"},
    {"a statement that is none",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  42\n}\n",
     "[parse] t.fusion:2:3: unexpected '42'; expected a statement such as 'y = exp(x)', 'symbol', or '}'\n"
     "  42\n"
     "  ^"},
    {"a result without a call",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = ]\n}\n",
     "[parse] t.fusion:2:8: unexpected ']'; expected a call such as add(T0, T1) or an expression such as T0 * 2\n"
     "  T1 = ]\n"
     "       ^"},
    {"a scalar that is no tensor",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = i0 * 2\n}\n",
     "[parse] t.fusion:2:8: this is a scalar; expected a tensor, which full(shape, value) makes of it\n"
     "  T1 = i0 * 2\n"
     "       ^"},
    {"a quotient of scalars in an expression",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = T0 * (1 / 3 + 1)\n}\n",
     "[parse] t.fusion:2:16: '/' between scalars is floor division, and an operator uses it with a tensor; expected "
     "truediv(a, b), or the call of that operator, such as mul(x, n / 2)\n"
     "  T1 = T0 * (1 / 3 + 1)\n"
     "               ^"},
    {"a remainder of scalars in an expression",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = i0 % 2 - T0\n}\n",
     "[parse] t.fusion:2:11: '%' between scalars is its remainder, and an operator uses it with a tensor; expected "
     "remainder(a, b), or the call of that operator, such as mul(x, n / 2)\n"
     "  T1 = i0 % 2 - T0\n"
     "          ^"},
    {"a method",
     "fusion f(x: f32[4]) -> y {\n  y = x.sum()\n}\n",
     "[parse] t.fusion:2:8: there are no methods and no modules; expected a call such as exp(x) or sum(x, axis=0); did "
     "you mean 'sum(x)'?\n"
     "  y = x.sum()\n"
     "       ^"},
    {"a method of another library behind parentheses",
     "fusion f(x: f32[4]) -> y {\n  y = (x + 1).astype(f16)\n}\n",
     "[parse] t.fusion:2:14: there are no methods and no modules; expected a call such as exp(x) or sum(x, axis=0); did "
     "you mean 'cast(x, dtype=f32)'?\n"
     "  y = (x + 1).astype(f16)\n"
     "             ^"},
    {"a module",
     "fusion f(x: f32[4]) -> y {\n  y = torch.exp(x)\n}\n",
     "[parse] t.fusion:2:12: there are no methods and no modules; expected a call such as exp(x) or sum(x, axis=0); did "
     "you mean 'exp(x)'?\n"
     "  y = torch.exp(x)\n"
     "           ^"},
    {"a function that nothing does here",
     "fusion f(x: f32[4]) -> y {\n  y = sort(x)\n}\n",
     "[parse] t.fusion:2:7: unknown function 'sort'; expected an op or a function; nothing here does what 'sort' does\n"
     "  y = sort(x)\n"
     "      ^"},
    {"a floor division",
     "fusion f(x: f32[4], a: f32[4]) -> y {\n  y = a + x // 2\n}\n",
     "[parse] t.fusion:2:13: '//' begins a comment, and this one reads like the divisor of a floor division; expected "
     "floor(x / y), of integers div(x, y), which rounds towards zero, or a comment that starts with a word\n"
     "  y = a + x // 2\n"
     "            ^"},
    {"an error in an input and one in a statement that does not read it",
     "fusion f(x: f33[n], y: f32[n]) -> z {\n  a = x + 1\n  z: f32[n] = clip(y)\n}\n",
     "[parse] t.fusion:1:13: unknown type 'f33'; expected f64, f32, f16, bf16, i64, i32 or bool; did you mean 'f32'?\n"
     "fusion f(x: f33[n], y: f32[n]) -> z {\n"
     "            ^\n"
     "t.fusion:3:15: unknown function 'clip'; expected an op or a function; did you mean 'clamp(x, low, high)'?\n"
     "  z: f32[n] = clip(y)\n"
     "              ^\n"
     "2 errors"},
    {"a tensor that no statement names",
     "fusion f(T0: f32[4], T7: f32[4]) -> T9 {\n  T9 = max(T0 * 2, axes=[3]) + T7\n}\n",
     "[definition] reduction: axis 3 is out of bounds for tensor T10: f32[4] with 1 dimensions\n"
     "  at t.fusion:2:8\n"
     "      T9 = max(T0 * 2, axes=[3]) + T7\n"
     "           ^"},
    {"a type of another library",
     "fusion f(x: float32[4]) -> x {}",
     "[parse] t.fusion:1:13: unknown type 'float32'; expected f64, f32, f16, bf16, i64, i32 or bool; did you mean 'f32'?\n"
     "fusion f(x: float32[4]) -> x {}\n"
     "            ^"},
    {"comparisons in a chain",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = 0 < T0 < 1\n}\n",
     "[parse] t.fusion:2:15: comparisons of tensors do not chain; expected '&&' between two of them, as in a < b && b < c\n"
     "  T1 = 0 < T0 < 1\n"
     "              ^"},
    {"a matrix product of scalars",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = T0 + i0 @ 2\n}\n",
     "[parse] t.fusion:2:16: '@' needs a tensor, and both operands are scalars; expected matmul(a, b)\n"
     "  T1 = T0 + i0 @ 2\n"
     "               ^"},
    {"a power of scalars",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = T0 + i0 ** 2\n}\n",
     "[parse] t.fusion:2:16: '**' needs a tensor, and both operands are scalars; expected pow(a, b)\n"
     "  T1 = T0 + i0 ** 2\n"
     "               ^"},
    {"more entries than axes",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = T0[0, 0, :]\n}\n",
     "[parse] t.fusion:2:10: 3 entries for the 2 axes of T0: f32[i0, i2]; expected at most one for each\n"
     "  T1 = T0[0, 0, :]\n"
     "         ^"},
    {"an entry that is missing",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = T0[0, ]\n}\n",
     "[parse] t.fusion:2:14: unexpected ']'; expected an index or a range such as 0:4, ::2 or :\n"
     "  T1 = T0[0, ]\n"
     "             ^"},
    {"brackets that are not closed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = T0[0 )\n}\n",
     "[parse] t.fusion:2:13: unexpected ')'; expected ',' or ']'\n"
     "  T1 = T0[0 )\n"
     "            ^"},
    {"a tensor as a position",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = T0[T0]\n}\n",
     "[parse] t.fusion:2:11: this is no integer; expected a position or a range such as 0:4; index_select(x, axis, index) "
     "takes a tensor of positions\n"
     "  T1 = T0[T0]\n"
     "          ^"},
    {"a tensor named like an extent",
     "fusion f(n: f32[n]) -> n {}",
     "[parse] t.fusion:1:10: 'n' is already a scalar or an extent; expected another name\n"
     "fusion f(n: f32[n]) -> n {}\n"
     "         ^"},
    {"a scalar named like a tensor",
     "fusion f(x: f32[4], x: i64) -> x {}",
     "[parse] t.fusion:1:21: 'x' is already a tensor; expected another name\n"
     "fusion f(x: f32[4], x: i64) -> x {}\n"
     "                    ^"},
    {"a misspelled tensor",
     "fusion f(input: f32[4]) -> y {\n  y = exp(inptu)\n}\n",
     "[parse] t.fusion:2:11: unknown name 'inptu'; expected a tensor, an extent, a scalar input or a type; did you mean "
     "'input'?\n"
     "  y = exp(inptu)\n"
     "          ^"},
    {"an output that is misspelled",
     "fusion f(input: f32[4]) -> result {\n  results = exp(input)\n}\n",
     "[parse] t.fusion:1:28: 'result' is not defined; expected an input or a result of a line above; did you mean "
     "'results'?\n"
     "fusion f(input: f32[4]) -> result {\n"
     "                           ^"},
    {"statements that have nothing to do with each other",
     "fusion f(x: f32[n]) -> y, z {\n  a = epx(x)\n  b = exp(a)\n  y = clip(b, 0, 1) z = sqtr(x)\n}\n",
     "[parse] t.fusion:2:7: unknown function 'epx'; expected an op or a function; did you mean 'exp'?\n"
     "  a = epx(x)\n"
     "      ^\n"
     "t.fusion:4:25: unknown function 'sqtr'; expected an op or a function; did you mean 'sqrt'?\n"
     "  y = clip(b, 0, 1) z = sqtr(x)\n"
     "                        ^\n"
     "2 errors"},
    {"no equals sign",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 exp(T0)\n}\n",
     "[parse] t.fusion:2:6: unexpected 'exp'; expected '=' or ':'\n"
     "  T1 exp(T0)\n"
     "     ^"},
    {"an unknown op",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = epx(T0)\n}\n",
     "[parse] t.fusion:2:8: unknown function 'epx'; expected an op or a function; did you mean 'exp'?\n"
     "  T1 = epx(T0)\n"
     "       ^"},
    {"an unknown op like none",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = photosynthesis(T0)\n}\n",
     "[parse] t.fusion:2:8: unknown function 'photosynthesis'; expected an op or a function\n"
     "  T1 = photosynthesis(T0)\n"
     "       ^"},
    {"an undefined operand",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T7)\n}\n",
     "[parse] t.fusion:2:12: 'T7' is not defined; expected an input or a result of a line above\n"
     "  T1 = exp(T7)\n"
     "           ^"},
    {"a result defined twice",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0) T1 = exp(T0)\n}\n",
     "[parse] t.fusion:2:16: 'T1' is defined twice; expected a name that is not taken\n"
     "  T1 = exp(T0) T1 = exp(T0)\n"
     "               ^"},
    {"a result named like an input",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T0 = exp(T0)\n}\n",
     "[parse] t.fusion:2:3: 'T0' is defined twice; expected a name that is not taken\n"
     "  T0 = exp(T0)\n"
     "  ^\n"
     "t.fusion:1:30: 'T1' is not defined; expected an input or a result of a line above\n"
     "fusion f(T0: f32[i0, i2]) -> T1 {\n"
     "                             ^\n"
     "2 errors"},
    {"too few operands",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0)\n}\n",
     "[definition] add: takes 2 operands, got 1\n"
     "  at t.fusion:2:8\n"
     "      T1 = add(T0)\n"
     "           ^"},
    {"too many operands",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0, T0)\n}\n",
     "[definition] exp: takes 1 operands, got 2\n"
     "  at t.fusion:2:8\n"
     "      T1 = exp(T0, T0)\n"
     "           ^"},
    {"a named operand of an elementwise function",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(x=T0)\n}\n",
     "[definition] exp: there is no argument 'x'; expected operands without names\n"
     "  at t.fusion:2:8\n"
     "      T1 = exp(x=T0)\n"
     "           ^"},
    {"an operand of no use",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, \"text\")\n}\n",
     "[definition] add: an operand is a text; expected a tensor or a scalar\n"
     "  at t.fusion:2:8\n"
     "      T1 = add(T0, \"text\")\n"
     "           ^"},
    {"an unknown attribute",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, axis=[1])\n}\n",
     "[definition] max: there is no argument 'axis'; expected in, axes; did you mean 'axes'?\n"
     "  at t.fusion:2:8\n"
     "      T1 = max(T0, axis=[1])\n"
     "           ^"},
    {"an attribute given twice",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, [1], axes=[0])\n}\n",
     "[definition] max: the argument 'axes' is given twice; expected it once\n"
     "  at t.fusion:2:8\n"
     "      T1 = max(T0, [1], axes=[0])\n"
     "           ^"},
    {"too many arguments",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, [1], [0])\n}\n",
     "[definition] max: too many arguments; expected in, axes\n"
     "  at t.fusion:2:8\n"
     "      T1 = max(T0, [1], [0])\n"
     "           ^"},
    {"an attribute of another form",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, axes=1)\n}\n",
     "[definition] max: the argument 'axes' is an integer; expected a list of integers\n"
     "  at t.fusion:2:8\n"
     "      T1 = max(T0, axes=1)\n"
     "           ^"},
    {"an unknown enumerator",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = set(T0, cache_op=Steaming)\n}\n",
     "[definition] set: the argument 'cache_op' is a text; expected one of Unspecified, AllLevels, Streaming, Global; did you mean 'Streaming'?\n"
     "  at t.fusion:2:8\n"
     "      T1 = set(T0, cache_op=Steaming)\n"
     "           ^"},
    {"an operand that is missing",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = cast()\n}\n",
     "[definition] cast: operand 'in' is missing\n"
     "  at t.fusion:2:8\n"
     "      T1 = cast()\n"
     "           ^"},
    {"a scalar where a tensor must be",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = cast(0.5, dtype=f32)\n}\n",
     "[definition] cast: 'in' must be a tensor\n"
     "  at t.fusion:2:8\n"
     "      T1 = cast(0.5, dtype=f32)\n"
     "           ^"},
    {"a list where a tensor must be",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = cast([T0], dtype=f32)\n}\n",
     "[definition] cast: the argument 'in' is a list of tensors; expected a tensor\n"
     "  at t.fusion:2:8\n"
     "      T1 = cast([T0], dtype=f32)\n"
     "           ^"},
    {"an axis out of bounds",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, axes=[2])\n}\n",
     "[definition] reduction: axis 2 is out of bounds for tensor T0: f32[i0, i2] with 2 dimensions\n"
     "  at t.fusion:2:8\n"
     "      T1 = max(T0, axes=[2])\n"
     "           ^"},
    {"an axis twice",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, axes=[1, -1])\n}\n",
     "[definition] reduction: axis 1 of tensor T0: f32[i0, i2] is named twice\n"
     "  at t.fusion:2:8\n"
     "      T1 = max(T0, axes=[1, -1])\n"
     "           ^"},
    {"no axes",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0)\n}\n",
     "[definition] max: no axes to reduce on T0: f32[i0, i2]; name at least one\n"
     "  at t.fusion:2:8\n"
     "      T1 = max(T0)\n"
     "           ^"},
    {"an unknown name",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = mul(T0, i3)\n}\n",
     "[parse] t.fusion:2:16: unknown name 'i3'; expected a tensor, an extent, a scalar input or a type; did you mean 'i0'?\n"
     "  T1 = mul(T0, i3)\n"
     "               ^"},
    {"an unknown extent in a list",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = reshape(T0, shape=[i0 * i22])\n}\n",
     "[parse] t.fusion:2:32: unknown name 'i22'; expected a tensor, an extent, a scalar input or a type; did you mean 'i2'?\n"
     "  T1 = reshape(T0, shape=[i0 * i22])\n"
     "                               ^"},
    {"an unknown function of scalars",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = mul(T0, sqt(i0))\n}\n",
     "[parse] t.fusion:2:16: unknown function 'sqt'; expected an op or a function; did you mean 'set'?\n"
     "  T1 = mul(T0, sqt(i0))\n"
     "               ^"},
    {"a call that is not closed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0\n}\n",
     "[parse] t.fusion:3:1: unexpected '}'; expected ',' or ')'\n"
     "}\n"
     "^"},
    {"arguments without a comma",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0 T0)\n}\n",
     "[parse] t.fusion:2:15: unexpected 'T0'; expected ',' or ')'\n"
     "  T1 = add(T0 T0)\n"
     "              ^"},
    {"a list that is not closed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, axes=[1)\n}\n",
     "[parse] t.fusion:2:23: unexpected ')'; expected ',' or ']'\n"
     "  T1 = max(T0, axes=[1)\n"
     "                      ^"},
    {"a type in a list",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, axes=[f32])\n}\n",
     "[parse] t.fusion:2:22: 'f32' cannot stand in a list; expected tensors or scalars\n"
     "  T1 = max(T0, axes=[f32])\n"
     "                     ^"},
    {"a list in a list",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = max(T0, axes=[[1]])\n}\n",
     "[parse] t.fusion:2:22: unexpected '['; expected a tensor, a scalar or true or false\n"
     "  T1 = max(T0, axes=[[1]])\n"
     "                     ^"},
    {"an argument that is missing",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0,)\n}\n",
     "[parse] t.fusion:2:15: unexpected ')'; expected an argument: a tensor, a scalar, a list, a call or a name\n"
     "  T1 = add(T0,)\n"
     "              ^"},
    {"a number that is no number",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, 12ab)\n}\n",
     "[parse] t.fusion:2:16: '12ab' is neither a number nor a name; expected a number such as 4, 0.5 or 1_i32\n"
     "  T1 = add(T0, 12ab)\n"
     "               ^"},
    {"a number out of range",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, 1e999)\n}\n",
     "[parse] t.fusion:2:16: the number 1e999 is out of range; expected a number between 5e-324 and 1.7e308, 0.0 or inf\n"
     "  T1 = add(T0, 1e999)\n"
     "               ^"},
    {"an integer out of range",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, 9223372036854775808)\n}\n",
     "[parse] t.fusion:2:16: the number 9223372036854775808 is out of range; expected an integer of 64 bits\n"
     "  T1 = add(T0, 9223372036854775808)\n"
     "               ^"},
    {"a number without digits",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, 0x)\n}\n",
     "[parse] t.fusion:2:16: the number 0x has no digits; expected an integer of 64 bits\n"
     "  T1 = add(T0, 0x)\n"
     "               ^"},
    {"a number of an unknown type",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, 0.5_f33)\n}\n",
     "[parse] t.fusion:2:16: the number '0.5_f33' cannot have the type 'f33'; expected f64, f32, f16 or bf16\n"
     "  T1 = add(T0, 0.5_f33)\n"
     "               ^"},
    {"a number that does not fit its type",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, 1e39_f32)\n}\n",
     "[parse] t.fusion:2:16: the number '1e39_f32' does not fit into f32; expected one in its range\n"
     "  T1 = add(T0, 1e39_f32)\n"
     "               ^"},
    {"bits of no NaN",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = add(T0, nan(0x10))\n}\n",
     "[parse] t.fusion:2:16: these are not the bits of a NaN; expected 0x7ff0000000000001 to 0x7fffffffffffffff\n"
     "  T1 = add(T0, nan(0x10))\n"
     "               ^"},
    {"a string that is not closed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = set(T0, cache_op=\"All\n}\n",
     "[parse] t.fusion:2:25: the string is not closed; expected '\"' on the same line\n"
     "  T1 = set(T0, cache_op=\"All\n"
     "                        ^"},
    {"an unknown escape",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = set(T0, cache_op=\"\\q\")\n}\n",
     "[parse] t.fusion:2:25: unknown escape in a string; expected \\n, \\t, \\r, \\\", \\\\ or \\x and two hex digits\n"
     "  T1 = set(T0, cache_op=\"\\q\")\n"
     "                        ^"},
    {"a character of no meaning",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(`T0`)\n}\n",
     "[parse] t.fusion:2:12: '`' has no meaning here; expected a name, a number or punctuation\n"
     "  T1 = exp(`T0`)\n"
     "           ^"},
    {"a byte of no meaning",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\001\n}\n",
     "[parse] t.fusion:2:15: the byte 0x01 has no meaning here; expected a name, a number or punctuation\n"
     "  T1 = exp(T0)?\n"
     "              ^"},
    {"a written type that is not computed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1: f64[i0, i2] = exp(T0)\n}\n",
     "[parse] t.fusion:2:7: the type f64 is not what is computed; expected T1: f32[i0, i2]\n"
     "  T1: f64[i0, i2] = exp(T0)\n"
     "      ^"},
    {"a written rank that is not computed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1: f32[i0] = exp(T0)\n}\n",
     "[parse] t.fusion:2:7: 1 axes are written; expected the 2 of T1: f32[i0, i2]\n"
     "  T1: f32[i0] = exp(T0)\n"
     "      ^"},
    {"a written size that is not computed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1: f32[i2, i0] = exp(T0)\n}\n",
     "[parse] t.fusion:2:11: this axis does not fit what is computed; expected the axes of T1: f32[i0, i2]\n"
     "  T1: f32[i2, i0] = exp(T0)\n"
     "          ^"},
    {"a written kind of axis that is not computed",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1: f32[i0, 1] = exp(T0)\n}\n",
     "[parse] t.fusion:2:15: this axis does not fit what is computed; expected the axes of T1: f32[i0, i2]\n"
     "  T1: f32[i0, 1] = exp(T0)\n"
     "              ^"},
    {"an unknown extent in a written type",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1: f32[i0, i3] = exp(T0)\n}\n",
     "[parse] t.fusion:2:15: unknown scalar 'i3'; expected the name of an extent or of a scalar input\n"
     "  T1: f32[i0, i3] = exp(T0)\n"
     "              ^"},
    {"more names than results",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1, T2 = exp(T0)\n}\n",
     "[parse] t.fusion:2:12: 'exp' gives 1 results; expected as many names on the left of '=', not 2\n"
     "  T1, T2 = exp(T0)\n"
     "           ^"},
    {"a symbol twice",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  symbol i0: i64\n}\n",
     "[parse] t.fusion:2:10: 'i0' is declared twice; expected a name that is not taken\n"
     "  symbol i0: i64\n"
     "         ^"},
    {"a symbol without a type",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  symbol n\n}\n",
     "[parse] t.fusion:3:1: unexpected '}'; expected ':'\n"
     "}\n"
     "^"},
    {"a symbol that cannot be one",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  symbol none: i64\n}\n",
     "[parse] t.fusion:2:10: 'none' cannot be a name; expected one that is no type, no number of a tensor and no reserved word\n"
     "  symbol none: i64\n"
     "         ^"},
    {"sizes of no extent",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nsizes { i1 = 4 }",
     "[parse] t.fusion:4:9: 'i1' is no extent; expected one of the fusion's; did you mean 'i0'?\n"
     "sizes { i1 = 4 }\n"
     "        ^"},
    {"a negative size",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nsizes { i0 = -4 }",
     "[parse] t.fusion:4:14: the size is negative; expected 0 or more\n"
     "sizes { i0 = -4 }\n"
     "             ^"},
    {"a size that is no number",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nsizes { i0 = i2 }",
     "[parse] t.fusion:4:14: unexpected 'i2'; expected a size\n"
     "sizes { i0 = i2 }\n"
     "             ^"},
    {"a size given twice",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nsizes { i0 = 4, i0 = 4 }",
     "[parse] t.fusion:4:17: the size of 'i0' is given twice; expected it once\n"
     "sizes { i0 = 4, i0 = 4 }\n"
     "                ^"},
    {"sizes without a comma",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nsizes { i0 = 4 i2 = 4 }",
     "[parse] t.fusion:4:16: unexpected 'i2'; expected ',' or '}'\n"
     "sizes { i0 = 4 i2 = 4 }\n"
     "               ^"},
    {"sizes twice",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nsizes { }\nsizes { }",
     "[parse] t.fusion:5:1: unexpected 'sizes'; expected 'sizes', 'schedule' or the end of the text, each once\n"
     "sizes { }\n"
     "^"},
    {"text after the end",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nfusion g() -> () {}",
     "[parse] t.fusion:4:1: unexpected 'fusion'; expected 'sizes', 'schedule' or the end of the text, each once\n"
     "fusion g() -> () {}\n"
     "^"},
    {"an unknown command",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nschedule { splt(T1, axis=0, factor=4) }",
     "[parse] t.fusion:4:12: unknown command 'splt'; expected a schedule command; did you mean 'split'?\n"
     "schedule { splt(T1, axis=0, factor=4) }\n"
     "           ^"},
    {"a command that is none",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nschedule { 4 }",
     "[parse] t.fusion:4:12: unexpected '4'; expected a command such as split(T0, axis=0, factor=4), or '}'\n"
     "schedule { 4 }\n"
     "           ^"},
    {"a command on an undefined tensor",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nschedule { split(T9, axis=0, factor=4) }",
     "[parse] t.fusion:4:18: 'T9' is not defined; expected an input or a result of a line above\n"
     "schedule { split(T9, axis=0, factor=4) }\n"
     "                 ^"},
    {"a command that is illegal",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nschedule {\n  split(T1, axis=0, factor=4)\n  split(T1, axis=7, factor=4)\n}",
     "[schedule] axis 7 is out of bounds for 3 axes\n"
     "  while applying schedule step 2: split(T1, axis=7, factor=4)\n"
     "  at t.fusion:6:3\n"
     "      split(T1, axis=7, factor=4)\n"
     "      ^"},
    {"a command that makes a tensor",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nschedule { T9 = cache_before(T1) }",
     "[unsupported] cache_before: commands that make tensors are not carried out yet\n"
     "  while applying schedule step 1: T9 = cache_before(T1)\n"
     "  at t.fusion:4:12\n"
     "    schedule { T9 = cache_before(T1) }\n"
     "               ^"},
    {"a command that makes no tensor",
     "fusion f(T0: f32[i0, i2]) -> T1 {\n  T1 = exp(T0)\n}\nschedule { T9 = split(T1, axis=0, factor=4) }",
     "[parse] t.fusion:4:12: 'split' gives no tensor; expected the command without 'T<n> ='\n"
     "schedule { T9 = split(T1, axis=0, factor=4) }\n"
     "           ^"},
    {"a size that is no integer",
     "fusion f(s: f32) -> T1 {\n  T1 = full(shape=[s], value=1)\n}\n",
     "[definition] full: s (of type f32) is no size; sizes are integers that are not negative\n"
     "  at t.fusion:2:8\n"
     "      T1 = full(shape=[s], value=1)\n"
     "           ^"},
    {"a negative size of an op",
     "fusion f() -> T1 {\n  T1 = full(shape=[-4], value=1)\n}\n",
     "[definition] full: -4 (of type i64) is no size; sizes are integers that are not negative\n"
     "  at t.fusion:2:8\n"
     "      T1 = full(shape=[-4], value=1)\n"
     "           ^"},
    {"an op without what it needs",
     "fusion f() -> T1 {\n  T1 = full(shape=[4])\n}\n",
     "[definition] full: 'value' is missing; give the value of every element\n"
     "  at t.fusion:2:8\n"
     "      T1 = full(shape=[4])\n"
     "           ^"},
    {"a length that is missing",
     "fusion f() -> T1 {\n  T1 = iota()\n}\n",
     "[definition] iota: 'length' is missing; give the number of elements\n"
     "  at t.fusion:2:8\n"
     "      T1 = iota()\n"
     "           ^"},
    {"an index that is missing",
     "fusion f(T0: f32[i0]) -> T1 {\n  T1 = select(T0, axis=0)\n}\n",
     "[definition] select: 'index' is missing; give the position along axis 0 of T0: f32[i0]\n"
     "  at t.fusion:2:8\n"
     "      T1 = select(T0, axis=0)\n"
     "           ^"},
};
// clang-format on

TEST(WrongText, IsRefusedWithThePlaceAndWhatWasExpected) {
  const LoopCommands commands;
  for (const WrongText& row : kWrongTexts) {
    std::string message = "no error";
    try {
      static_cast<void>(parseFusion(row.text, "t.fusion", {.scheduler = &commands}));
    } catch (const Error& error) {
      message = fmt::format("[{}] {}", errorCodeName(error.code()), error.what());
    }
    EXPECT_EQ(message, row.message) << row.title;
  }
}

TEST(WrongText, AScheduleNeedsAScheduler) {
  try {
    static_cast<void>(
        parseFusion("fusion f(T0: f32[i0]) -> T0 {} schedule { split(T0, axis=0, factor=4) }", "t.fusion"));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_EQ(error.message(), "schedule: 'split' needs a scheduler, and this reader has none");
  }
}

std::string messageOf(const std::string& text) {
  try {
    static_cast<void>(parseFusion(text, "t.fusion"));
  } catch (const Error& error) {
    return error.message().substr(0, error.message().find('\n'));
  }
  return "no error";
}

std::string repeated(std::string_view piece, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(WrongText, DeepNestingIsAnErrorNotAnOverflow) {
  const std::string head = "fusion f(T0: f32[i0]) -> T1 { T1 = ";
  EXPECT_EQ(messageOf(head + repeated("sin(", 100000) + ")"),
            "t.fusion:1:836: nested too deeply; expected at most 200 levels");
  EXPECT_EQ(messageOf(head + "add(T0, " + repeated("(", 100000)),
            "t.fusion:1:244: nested too deeply; expected at most 200 levels");
  EXPECT_EQ(messageOf(head + repeated("exp(", 100000) + "T0"),
            "t.fusion:1:836: nested too deeply; expected at most 200 levels");
  EXPECT_EQ(messageOf(head + "cat(" + repeated("[", 100000)),
            "t.fusion:1:41: unexpected '['; expected a tensor, a scalar or true or false");
  EXPECT_EQ(messageOf("fusion f(T0: f32[" + repeated("-", 100000)),
            "t.fusion:1:218: nested too deeply; expected at most 200 levels");
  EXPECT_EQ(messageOf(head + repeated("exp(", 150) + "T0" + repeated(")", 150) + " }"), "no error");
}

TEST(WrongText, ExtentsThatGrowWithoutBoundAreRefused) {
  std::string text = "fusion f(T0: f32[i0]) -> () {\n";
  for (int i = 1; i <= 40; ++i) text += fmt::format("T{0} = cat([T{1}, T{1}])\n", i, i - 1);
  // 2^40 terms; a simplifier that adds them up has nothing to refuse.
  EXPECT_THAT(messageOf(text + "}"),
              testing::AnyOf("no error",
                             "t.fusion:14:7: an extent of the result of 'cat' has become too large to be written; "
                             "expected fewer operations on one size"));
}

TEST(WrongText, HugeInputsAreReadInLinearTime) {
  EXPECT_EQ(messageOf(std::string(10'000'000, ' ')), "t.fusion:1:1: unexpected end of the text; expected 'fusion'");
  EXPECT_EQ(messageOf("fusion " + std::string(10'000'000, 'x')),
            "t.fusion:1:10000008: unexpected end of the text; expected '('");
  EXPECT_EQ(messageOf("fusion f() -> () {" + repeated("} ", 1'000'000)),
            "t.fusion:1:21: unexpected '}'; expected 'sizes', 'schedule' or the end of the text, each once");
}

}  // namespace
}  // namespace tokamak
