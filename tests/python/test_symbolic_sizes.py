"""Sizes that other compilers compute with: the same for symbols as for the numbers that they stand for."""
import operator
import random

import pytest

from tokamak import BindError, DataType, DefinitionError, FusionDefinition, _tokamak


class Symbol:
    """An integer that only arithmetic and comparisons see."""

    def __init__(self, value):
        self.value = value

    def __bool__(self):
        return bool(self.value)

    def __repr__(self):
        return f"Symbol({self.value})"


def _number(value):
    return value.value if isinstance(value, Symbol) else value


def _operation(name):
    function = getattr(operator, name)

    def call(self, other):
        return Symbol(function(self.value, _number(other)))

    def reflected(self, other):
        return Symbol(function(_number(other), self.value))

    return call, reflected


for _name in ("add", "sub", "mul", "floordiv", "mod"):
    _call, _reflected = _operation(_name)
    setattr(Symbol, f"__{_name}__", _call)
    setattr(Symbol, f"__r{_name}__", _reflected)
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Symbol, f"__{_name}__", _operation(_name)[0])


def two_axes():
    fd = FusionDefinition()
    return fd, fd.define_tensor([-1, -1], contiguity=True), fd.define_scalar(DataType.Int)


def both(fd, tensor, sizes, scalar, number):
    """Sizes of numbers and of symbols."""
    known, symbolic = _tokamak.KnownSizes(fd._native), _tokamak.SymbolicSizes(fd._native)
    known.bind(tensor._value, sizes)
    known.bind_number(scalar._value, number)
    symbolic.bind(tensor._value, [Symbol(each) for each in sizes])
    symbolic.bind_number(scalar._value, Symbol(number))
    return known, symbolic


OPS = {1: ["neg", "abs", "logical_not"],
       2: ["add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "maximum",
           "minimum", "mod", "remainder", "bitwise_xor"],
       3: ["where"]}
NOT_THERE = {"mod", "remainder", "bitwise_xor"}


@pytest.mark.parametrize("name", [name for names in OPS.values() for name in names])
def test_each_function_gives_what_numbers_give(name):
    fd, x, n = two_axes()
    values = [fd.ops.size(x, 0), fd.ops.size(x, 1), n, fd.define_scalar(3, DataType.Int)]
    count = next(count for count, names in OPS.items() if name in names)
    results = [getattr(fd.ops, name)(*random.choices(values, k=count)) for _ in range(8)]
    found = 0
    for sizes, number in (((4, 6), 2), ((1, 9), 5), ((7, 0), 0), ((5, 5), -3)):
        known, symbolic = both(fd, x, list(sizes), n, number)
        for each in results:
            got, wanted = symbolic.evaluate(each._value), known.evaluate(each._value)
            if got is not None:
                assert _number(got) == wanted
                found += 1
    assert found > 0 or name in NOT_THERE


def test_sizes_of_tensors():
    fd, x, n = two_axes()
    flat = fd.ops.reshape(x, [fd.ops.size(x, 0) * fd.ops.size(x, 1)])
    doubled = fd.ops.cat([flat, flat], 0)
    padded = fd.ops.pad(x, [1, n])
    windows = [flat, doubled, padded, fd.ops.slice(x, [1, 0], [fd.ops.size(x, 0), fd.ops.size(x, 1)]),
               fd.ops.sum(x, 1), fd.ops.permute(x, [1, 0]), fd.ops.iota(n * 2 + 1, None, None, DataType.Int)]
    for each in windows:
        fd.add_output(each)
    sizes = [fd._native.size(each._value, axis) for each in windows for axis in range(each.ndim)]
    for rows, columns, number in ((3, 5, 2), (1, 1, 0), (9, 4, 7)):
        known, symbolic = both(fd, x, [rows, columns], n, number)
        got = [symbolic.evaluate(each) for each in sizes]
        assert [_number(each) for each in got] == [known.evaluate(each) for each in sizes]
        assert sum(isinstance(each, Symbol) for each in got) >= len(sizes) - 1


def test_what_is_not_known_is_none():
    fd, x, n = two_axes()
    rows = fd.ops.size(x, 0)
    quotient = fd.ops.cast(fd.ops.sqrt(fd.ops.cast(rows, DataType.Double)), DataType.Int)
    symbolic = _tokamak.SymbolicSizes(fd._native)
    assert symbolic.evaluate(rows._value) is None and symbolic.evaluate((rows + n)._value) is None
    symbolic.bind(x._value, [4, 5])
    assert symbolic.evaluate(rows._value) == 4 and symbolic.evaluate((rows + n)._value) is None
    assert symbolic.evaluate(quotient._value) is None


def test_what_cannot_be_bound():
    with FusionDefinition() as fd:
        x, n = fd.define_tensor([-1, 3]), fd.define_scalar(DataType.Int)
        fd.add_output(x + 1)
    symbolic = _tokamak.SymbolicSizes(fd._native)
    for words, sizes in (("has 2 axes, but a tensor of rank 1", [4]), ("axis 1 has size 4, but 3 is 3", [5, 4]),
                         ("axis 1 has size Symbol\\(7\\), but 3 is 3", [5, Symbol(7)])):
        with pytest.raises(BindError, match=words):
            symbolic.bind(x._value, sizes)
    symbolic = _tokamak.SymbolicSizes(fd._native)
    symbolic.bind(x._value, [5, 3])
    with pytest.raises(BindError, match="axis 0 has size 6, but i0 is 5"):
        symbolic.bind(x._value, [6, 3])
    with pytest.raises(DefinitionError, match="a tensor has sizes"):
        symbolic.bind(n._value, [])
    for refused in (lambda: symbolic.bind_number(x._value, 3), lambda: symbolic.evaluate(x._value)):
        with pytest.raises(DefinitionError, match="a number is legal here"):
            refused()
    other, tensor, _ = two_axes()
    with pytest.raises(DefinitionError):
        symbolic.bind(tensor._value, [1, 2])
    assert other is not fd


class Broken(Symbol):
    def __eq__(self, other):
        raise OverflowError("no comparison")

    __hash__ = None

    def __add__(self, other):
        raise OverflowError("no sum")


def test_errors_of_symbols_come_through():
    fd, x, n = two_axes()
    total = fd.ops.size(x, 0) + n
    symbolic = _tokamak.SymbolicSizes(fd._native)
    symbolic.bind(x._value, [Broken(1), 2])
    symbolic.bind_number(n._value, 3)
    with pytest.raises(OverflowError, match="no sum"):
        symbolic.evaluate(total._value)
    same = fd.ops.eq(fd.ops.size(x, 0), n)
    with pytest.raises(OverflowError, match="no comparison"):
        symbolic.evaluate(same._value)


def test_layouts_for_arrays_that_are_not_there():
    with FusionDefinition() as fd:
        x, n = fd.define_tensor([-1, -1], contiguity=True), fd.define_scalar(DataType.Double)
        fd.add_output(fd.ops.permute(x * n, [1, 0]))
    program = fd._compiled_row_major((1, 0), [])
    layout, = program.layouts_for([("f32", [3, 5])], [2.0])
    assert layout[0] == "own" and layout[4:] == ("f32", [5, 3], [3, 1])
    for arrays, numbers in (([], [2.0]), ([("f32", [3, 5])], []), ([("f32", [3, 5])] * 2, [1.0])):
        with pytest.raises(BindError, match="numbers for a program that takes 1 and 1"):
            program.layouts_for(arrays, numbers)
    with pytest.raises(BindError, match="while taking input 0|sizes"):
        program.layouts_for([("f32", [3, -5])], [2.0])
    with pytest.raises(DefinitionError, match="is no type"):
        program.layouts_for([("float", [3, 5])], [2.0])
