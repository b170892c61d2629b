// Texts that are refused: each with its message, the line and a caret under the place.
#include <gtest/gtest.h>

#include "base/error.h"
#include "host/ir/host_ir_container.h"
#include "host/ir/text/host_parser.h"

namespace tokamak {
namespace {

struct Refused {
  const char* name;
  const char* text;
  const char* message;
};

constexpr Refused kRefused[] = {
    {"NothingAtAll", R"()", "a:1:1: unexpected end of the text; expected '%HostIrContainer'"},
    {"AnotherTitle", R"(%Kernel { () -> () :
}
)",
     "a:1:1: unexpected '%'; expected '%HostIrContainer'"},
    {"TextBeforeTheProgram", R"(dump:
%HostIrContainer { () -> () :
}
)",
     "a:1:1: unexpected 'dump'; expected '%HostIrContainer'"},
    {"NoBrace", R"(%HostIrContainer ( () -> () :
}
)",
     "a:1:18: unexpected '('; expected '{'"},
    {"InputsThatAreNotClosed", R"(%HostIrContainer { (T0_g_float[] -> () :
}
)",
     "a:1:34: unexpected '->'; expected ',' or ')'"},
    {"AnInputTwice", R"(%HostIrContainer { (T0_g_float[], T0_g_float[]) -> () :
}
)",
     "a:1:35: this is an input already"},
    {"AScalarAsOutput", R"(%HostIrContainer { () -> (i0) :
}
)",
     "a:1:27: unexpected 'i0'; expected a tensor such as T0_g_float[iS0{i0}]"},
    {"NoColonAfterTheHeader", R"(%HostIrContainer { () -> ()
}
)",
     "a:2:1: unexpected '}'; expected ':'"},
    {"NoEnd", R"(%HostIrContainer { () -> () :
  StartCoalescing
)",
     "a:2:18: unexpected end of the text; expected a statement or '}'"},
    {"TextAfterTheProgram", R"(%HostIrContainer { () -> () :
}
StartCoalescing
)",
     "a:3:1: unexpected 'StartCoalescing'; expected Aliases, Views, Demands, OutputAliases, Domains, Scalars, "
     "HostUnit<number>, or the end of the text"},
    {"AByteWithoutMeaning", R"(%HostIrContainer { () -> () :
  ~
}
)",
     "a:2:3: '~' has no meaning here; expected a name, a number or punctuation"},
    {"AnUnknownMemory", R"(%HostIrContainer { (T0_x_float[]) -> () :
}
)",
     "a:1:21: 'T0_x_float': the memory is one of l, s, g, t"},
    {"AnUnknownElementType", R"(%HostIrContainer { (T0_g_float8[]) -> () :
}
)",
     "a:1:21: 'T0_g_float8': the element type is one of double, float, __half, __bfloat, int, int64_t, bool"},
    {"ATensorWithoutParts", R"(%HostIrContainer { (T0[iS0{i0}]) -> () :
}
)",
     "a:1:21: 'T0': expected the memory and the element type after the number, as in T0_g_float"},
    {"ATensorNumberTooLarge", R"(%HostIrContainer { (T99999999999_g_float[]) -> () :
}
)",
     "a:1:21: 'T99999999999_g_float': expected T and a number up to 1000000000"},
    {"ATensorWithoutAxes", R"(%HostIrContainer { (T0_g_float) -> () :
}
)",
     "a:1:31: unexpected ')'; expected '[' and the axes of T0"},
    {"AnAxisOfAnUnknownKind", R"(%HostIrContainer { (T0_g_float[xS0{i0}]) -> () :
}
)",
     "a:1:32: 'xS0' names no axis; expected one of the letters irbsnv?, a parallel type (S, StreamIdx, deviceIdx.x, "
     "...) and a number"},
    {"AnAxisOfAnUnknownParallelType", R"(%HostIrContainer { (T0_g_float[iStream0{i0}]) -> () :
}
)",
     "a:1:32: 'iStream0' names no axis; expected one of the letters irbsnv?, a parallel type (S, StreamIdx, "
     "deviceIdx.x, ...) and a number"},
    {"AnAxisWithoutExtent", R"(%HostIrContainer { (T0_g_float[iS0]) -> () :
}
)",
     "a:1:35: unexpected ']'; expected '{' and the extent of axis iS0"},
    {"AnAxisWithAnOpenExtent", R"(%HostIrContainer { (T0_g_float[iS0{i0 i2}]) -> () :
}
)",
     "a:1:39: unexpected 'i2'; expected '}'"},
    {"AnAxisNamedDifferently", R"(%HostIrContainer { (T0_g_float[iS0{i0}, iS0{i2}]) -> () :
}
)",
     "a:1:41: axis 0 was 'iS0{i0}' before; all mentions of an axis must agree"},
    {"AnExtentThatIsAFraction", R"(%HostIrContainer { (T0_g_float[iS0{0.5}]) -> () :
}
)",
     "a:1:36: unexpected '0.5'; expected a constant with its type, as in float(0.5)"},
    {"AMeshWithUnequalRows", R"(%HostIrContainer { (T0_g_float[] (DeviceMesh{{0 1} {2}})) -> () :
}
)",
     "a:1:54: all rows of a mesh must be equally long"},
    {"AMeshWithoutDevices", R"(%HostIrContainer { (T0_g_float[] (DeviceMesh{})) -> () :
}
)",
     "a:1:46: unexpected '}'; expected a device number"},
    {"AMeshOfDifferentDepth", R"(%HostIrContainer { (T0_g_float[] (DeviceMesh{{0 1} {{2 3}}})) -> () :
}
)",
     "a:1:52: all rows of a mesh must be equally deep"},
    {"APartialCombinedByNoReduction",
     R"(%HostIrContainer { (T0_g_float[] (DeviceMesh{0 1}) (Partial{mean DIDx})) -> () :
}
)",
     "a:1:61: unexpected 'mean'; expected how the terms are combined: sum, prod, max or min"},
    {"APartialOverThreads", R"(%HostIrContainer { (T0_g_float[] (DeviceMesh{0 1}) (Partial{sum TIDx})) -> () :
}
)",
     "a:1:65: unexpected 'TIDx'; expected a device axis: DIDx, DIDy or DIDz"},
    {"ATensorWithOtherTerms", R"(%HostIrContainer { (T0_g_float[]) -> () :
  DEALLOCATE(buffer=T0_g_float[] (Partial{sum DIDx}))
} // %HostIrContainer
)",
     "a:2:21: T0 was 'T0_g_float[]' before; all mentions of a tensor must agree"},
    {"ATensorWrittenDifferently", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  DEALLOCATE(buffer=T0_g_double[iS0{i0}])
} // %HostIrContainer
)",
     "a:2:21: T0 was 'T0_g_float[iS0{i0}]' before; all mentions of a tensor must agree"},
    {"ATensorWithAnotherMesh", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  DEALLOCATE(buffer=T0_g_float[iS0{i0}] (DeviceMesh{0}))
} // %HostIrContainer
)",
     "a:2:21: T0 was 'T0_g_float[iS0{i0}]' before; all mentions of a tensor must agree"},
    {"AnUnknownStatement", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Frobnicate Stream 0
} // %HostIrContainer
)",
     "a:2:3: unexpected 'Frobnicate'; expected a statement"},
    {"AStatementThatIsIndentedTooFar", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
    StartCoalescing
} // %HostIrContainer
)",
     "a:2:5: the statement is indented by 4 blanks; expected 2"},
    {"AStatementThatIsNotIndented", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
StartCoalescing
} // %HostIrContainer
)",
     "a:2:1: the statement is indented by 0 blanks; expected 2"},
    {"TwoStatementsOnALine", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  StartCoalescing StartCoalescing
} // %HostIrContainer
)",
     "a:2:19: unexpected 'StartCoalescing' after a statement; expected a new line"},
    {"AnElseWithoutAnIf", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  ELSE:
} // %HostIrContainer
)",
     "a:2:3: unexpected 'ELSE'; expected an IF of the same indentation before it"},
    {"AllocateWithoutItsTensor", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  ALLOCATE(buffer=T1_g_float[iS1{i0}])
} // %HostIrContainer
)",
     "a:2:3: unexpected 'ALLOCATE'; expected the tensor before '= ALLOCATE'"},
    {"AllocateOfAnotherTensor", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}] = ALLOCATE(buffer=T0_g_float[iS0{i0}], mem_type=global, size=i0, zero_init=false, resets_to_zero=false)
} // %HostIrContainer
)",
     "a:2:41: the buffer of an ALLOCATE is the tensor before '='"},
    {"AllocateInUnknownMemory", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}] = ALLOCATE(buffer=T1_g_float[iS1{i0}], mem_type=shared, size=i0, zero_init=false, resets_to_zero=false)
} // %HostIrContainer
)",
     "a:2:71: unexpected 'shared'; expected global, pinned or host"},
    {"AllocateWithoutASize", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}] = ALLOCATE(buffer=T1_g_float[iS1{i0}], mem_type=global, zero_init=false, resets_to_zero=false)
} // %HostIrContainer
)",
     "a:2:79: unexpected 'zero_init'; expected 'size ='"},
    {"AllocateWithAnOddFlag", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}] = ALLOCATE(buffer=T1_g_float[iS1{i0}], mem_type=global, size=i0, zero_init=0, resets_to_zero=false)
} // %HostIrContainer
)",
     "a:2:98: unexpected '0'; expected 'true' or 'false'"},
    {"AllocateInTwoMemories", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}] = ALLOCATE(buffer=T1_g_float[iS1{i0}], mem_type=global, size=i0, zero_init=false, resets_to_zero=false)
  T1_g_float[iS1{i0}] = ALLOCATE(buffer=T1_g_float[iS1{i0}], mem_type=host, size=i0, zero_init=false, resets_to_zero=false)
} // %HostIrContainer
)",
     "a:3:71: T1 was given device memory before; one tensor has one kind of memory"},
    {"AllocateOfTwoTensors", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}], T0_g_float[iS0{i0}] = ALLOCATE(buffer=T1_g_float[iS1{i0}])
} // %HostIrContainer
)",
     "a:2:3: ALLOCATE gives one tensor its buffer"},
    {"ALoopOverNothing", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR StreamIdx:
} // %HostIrContainer
)",
     "a:2:16: unexpected ':'; expected 'in' and an axis, or 'from'"},
    {"ALoopWithoutAColon", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR StreamIdx in iS0{i0}
} // %HostIrContainer
)",
     "a:3:1: unexpected '}'; expected 'from' or ':'"},
    {"ALoopWithoutAStop", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR i5 from 0:
} // %HostIrContainer
)",
     "a:2:16: unexpected ':'; expected 'to'"},
    {"ALoopOverAConstant", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR 5 in iS0{i0}:
} // %HostIrContainer
)",
     "a:2:7: the index of a loop is a symbol such as StreamIdx or i10"},
    {"ALoopOverTheNumberOfStreams", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR numberOfStreams in iS0{i0}:
} // %HostIrContainer
)",
     "a:2:7: numberOfStreams is no index: its value is the number of worker streams"},
    {"ALoopInALoopOverTheSameIndex", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR i5 in iS0{i0}:
    FOR i5 in iS0{i0}:
} // %HostIrContainer
)",
     "a:3:9: i5 is the index of an enclosing loop; choose another name"},
    {"ABodyOnTheLineOfItsLoop", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR i5 in iS0{i0}: StartCoalescing
} // %HostIrContainer
)",
     "a:2:22: the body of a statement starts on a new line"},
    {"ABodyThatIsIndentedTooFar", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR i5 in iS0{i0}:
      StartCoalescing
} // %HostIrContainer
)",
     "a:3:7: the statement is indented by 6 blanks; expected 4"},
    {"ABodyThatFallsBetween", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  FOR i5 in iS0{i0}:
    StartCoalescing
   StartCoalescing
} // %HostIrContainer
)",
     "a:4:4: the statement is indented by 3 blanks; expected 2"},
    {"AChoiceWithoutAPredicate", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  IF :
} // %HostIrContainer
)",
     "a:2:6: unexpected ':'; expected a scalar"},
    {"AStreamWithoutANumber", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Synchronize Stream
} // %HostIrContainer
)",
     "a:3:1: unexpected '}'; expected the number of a stream, '(' and an index, or 'default'"},
    {"AStreamThatIsNone", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Synchronize T0
} // %HostIrContainer
)",
     "a:2:15: unexpected 'T0'; expected a stream such as Stream 0 or Stream ( i0 )"},
    {"GetCurrentStreamWithoutInto", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  GetCurrentStream Stream 0
} // %HostIrContainer
)",
     "a:2:20: unexpected 'Stream'; expected 'into'"},
    {"ANumberBeyondTheLargest", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Synchronize Stream 4000000000
} // %HostIrContainer
)",
     "a:2:22: 4000000000 is too large; expected at most 1000000000"},
    {"AnIndexThatIsNotClosed", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Synchronize Stream ( i0 % 4
} // %HostIrContainer
)",
     "a:3:1: unexpected '}'; expected ')'"},
    {"AnUnknownScalarFunction", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Synchronize Stream ( modulo(i0, 4) )
} // %HostIrContainer
)",
     "a:2:24: unknown function 'modulo' of scalars; expected ceilDiv, min, max, where, a type or an elementwise "
     "function"},
    {"AnUnknownOperation", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = Sett( T0_g_float[iS0{i0}] )
} // %HostIrContainer
)",
     "a:3:8: unknown operation 'Sett'"},
    {"AnUnknownSet", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = Set.Transpose( T0_g_float[iS0{i0}], order={0} )
} // %HostIrContainer
)",
     "a:3:8: unknown operation 'Set.Transpose'"},
    {"AnUnknownCacheOp", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = Set( T0_g_float[iS0{i0}], cache_op=Fast )
} // %HostIrContainer
)",
     "a:3:43: unexpected 'Fast'; expected a cache op: Unspecified, AllLevels, Streaming, Global"},
    {"ASetThatIsNotClosed", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = Set( T0_g_float[iS0{i0}]
} // %HostIrContainer
)",
     "a:4:1: unexpected '}'; expected ',' or ')'"},
    {"AMissingOperand", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = Set( )
} // %HostIrContainer
)",
     "a:3:13: unexpected ')'; expected a tensor such as T0_g_float[iS0{i0}]"},
    {"AnOperandWithoutAnInfixSymbol", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = T0_g_float[iS0{i0}]
} // %HostIrContainer
)",
     "a:4:1: unexpected '}'; expected an infix symbol such as '+'"},
    {"AnInfixWithoutARightOperand", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = T0_g_float[iS0{i0}]
     + ;
} // %HostIrContainer
)",
     "a:4:8: unexpected ';'; expected an operation or an operand"},
    {"ACallWithTooFewOperands", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = pow(T0_g_float[iS0{i0}]);
} // %HostIrContainer
)",
     "a:3:8: 'pow' is given 1 operands; it takes 2"},
    {"ACastOfAnotherType", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = __half2float(T0_g_float[iS0{i0}]);
} // %HostIrContainer
)",
     "a:3:8: '__half2float' converts __half, but its operand is float"},
    {"ACastToAnotherType", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = __float2half(T0_g_float[iS0{i0}]);
} // %HostIrContainer
)",
     "a:3:8: '__float2half' gives __half, but its result is float"},
    {"TwoResultsOfAnOpWithOne", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}], T2_g_float[iS2{i0}]
     = Set( T0_g_float[iS0{i0}] )
} // %HostIrContainer
)",
     "a:3:8: 'Set' gives one tensor"},
    {"AReductionByAnUnknownFunction", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[rS1{i0}]
     = reduction( T0_g_float[iS0{i0}], op = avg, initial value = float(0), allreduce = false )
} // %HostIrContainer
)",
     "a:3:45: unexpected 'avg'; expected add, mul, max or min"},
    {"AReductionFromAnotherValue", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[rS1{i0}]
     = reduction( T0_g_float[iS0{i0}], op = add, initial value = float(1), allreduce = false )
} // %HostIrContainer
)",
     "a:3:66: a reduction by add of float starts from 0 of that type; another value is not supported"},
    {"AReductionWithoutInitialValue", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[rS1{i0}]
     = reduction( T0_g_float[iS0{i0}], op = add, allreduce = false )
} // %HostIrContainer
)",
     "a:3:50: unexpected 'allreduce'; expected 'initial value ='"},
    {"AReductionOverAllDevices", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[rS1{i0}]
     = reduction( T0_g_float[iS0{i0}], op = add, initial value = float(0), allreduce = true )
} // %HostIrContainer
)",
     "a:3:88: unexpected 'true'; expected 'false': reductions here give their result once"},
    {"ARangeOfTwo", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = slice( T0_g_float[iS0{i0}], { {0, i0} } )
} // %HostIrContainer
)",
     "a:3:38: a range of 2 scalars; expected {start, stop, step}"},
    {"ASelectAlongAForeignAxis", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = HirAliasSelect( T0_g_float[iS0{i0}], axis = iS1{i0}, index = 0 )
} // %HostIrContainer
)",
     "a:3:52: this is no axis of T0"},
    {"AnUnknownAttribute", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = HirAliasSelect( T0_g_float[iS0{i0}], axis = iS0{i0}, offset = 0 )
} // %HostIrContainer
)",
     "a:3:61: HirAliasSelect has no attribute 'offset'"},
    {"AnAttributeTwice", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = HirAliasSelect( T0_g_float[iS0{i0}], index = 1, index = 0 )
} // %HostIrContainer
)",
     "a:3:56: attribute 'index' is given twice"},
    {"AConstantThatDoesNotFit", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = full({i0}, int(3000000000));
} // %HostIrContainer
)",
     "a:3:23: the number does not fit into int"},
    {"AConstantOfAnotherForm", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = full({i0}, float(x));
} // %HostIrContainer
)",
     "a:3:25: unexpected 'x'; expected a number of type float"},
    {"AConstantWithoutItsType", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  T1_g_float[iS1{i0}]
     = full({i0}, 0.5);
} // %HostIrContainer
)",
     "a:3:19: unexpected '0.5'; expected a constant with its type, as in float(0.5)"},
    {"AnUnknownCollective", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Communication 0 (type=Gossip, team=(0), input=T0_g_float[iS0{i0}], output=T0_g_float[iS0{i0}], backend=NCCL)
} // %HostIrContainer
)",
     "a:2:25: unexpected 'Gossip'; expected a collective: Gather, Allgather, Scatter, Reduce, Allreduce, "
     "ReduceScatter, Broadcast, SendRecv, AllToAll"},
    {"AnUnknownBackend", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Communication 0 (type=Allgather, team=(0), input=T0_g_float[iS0{i0}], output=T0_g_float[iS0{i0}], backend=TCP)
} // %HostIrContainer
)",
     "a:2:109: unexpected 'TCP'; expected a backend: Local, MPI, NCCL, CUDA"},
    {"ATeamWithCommas", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Communication 0 (type=Allgather, team=(0, 1), input=T0_g_float[iS0{i0}], output=T0_g_float[iS0{i0}], backend=NCCL)
} // %HostIrContainer
)",
     "a:2:43: unexpected ','; expected a device number or ')'"},
    {"AWaitForNothing", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  Wait 0
} // %HostIrContainer
)",
     "a:2:8: unexpected '0'; expected 'Communication'"},
    {"ASegmentWithoutASection", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  PostOnStream (HostUnit0, Inputs:{}, Outputs:{})
} // %HostIrContainer
)",
     "a:2:17: HostUnit0 is not in the text; expected a section HostUnit0{..} after the program"},
    {"APostWithoutASegment", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  PostOnStream (Inputs:{}, Outputs:{})
} // %HostIrContainer
)",
     "a:2:17: unexpected 'Inputs'; expected a segment such as HostUnit0"},
    {"AScalarAsAnOutputOfAPost", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  PostOnStream (none, Inputs:{}, Outputs:{i0, })
} // %HostIrContainer
)",
     "a:2:34: all outputs must be tensors"},
    {"ALaunchWithoutAKernel", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  LaunchKernel(Unit0, grid={}, block={}, Inputs: {}, Outputs: {})
} // %HostIrContainer
)",
     "a:2:16: unexpected 'Unit0'; expected a kernel such as Kernel0"},
    {"ALaunchWithoutABlock", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :
  LaunchKernel(Kernel0, grid={}, Inputs: {}, Outputs: {})
} // %HostIrContainer
)",
     "a:2:34: unexpected 'Inputs'; expected 'block ='"},
    {"AKernelSection", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Kernel0{
}
)",
     "a:5:1: unexpected '}'; expected 'kernel'"},
    {"AKernelOfAFusion", R"(%HostIrContainer { () -> () :
} // %HostIrContainer
HostUnit0{
  %Fusion f { () -> () :
  } // %Fusion
  Kernel0{
  }
}
)",
     "a:6:3: a fusion has no section Kernel0"},
    {"TwoKernelsOfANumber", R"(%HostIrContainer { () -> () :
} // %HostIrContainer
Kernel0{
  kernel k(T0: f32[4:1]) -> T1: f32[4:1] {
    T1[0] = T0[0]
  }
}
Kernel00{
  kernel k(T0: f32[4:1]) -> T1: f32[4:1] {
    T1[0] = T0[0]
  }
}
)",
     "a:8:1: there is a Kernel0 already"},
    {"TwoSectionsOfAName", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Aliases:{
}
Aliases:{
}
)",
     "a:6:1: there are two sections Aliases"},
    {"AnAliasOfItself", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Aliases:{
  T1_g_float[iS1{i0}] -> T1_g_float[iS1{i0}]
}
)",
     "a:5:3: markAlias: T1 as an alias of T1 closes a cycle; an alias must end at a buffer"},
    {"AnAliasTwice", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Aliases:{
  T1_g_float[iS1{i0}] -> T0_g_float[iS0{i0}]
  T1_g_float[iS1{i0}] -> T0_g_float[iS0{i0}]
}
)",
     "a:6:3: markAlias: T1 already is an alias of T0"},
    {"AnOutputAliasOfNoOutput", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
OutputAliases:{
  T1_g_float[iS1{i0}] -> T0_g_float[iS0{i0}]
}
)",
     "a:5:3: T1 is no output of the program"},
    {"ADomainOfATensorThatIsNotThere", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T7:{
  }
}
)",
     "a:5:3: T7 is not in the program"},
    {"ADomainTwice", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
  }
  T0:{
  }
}
)",
     "a:7:3: T0 has an entry already"},
    {"AnUnknownItemOfADomain", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    shape [iS0{i0}]
  }
}
)",
     "a:6:5: unexpected 'shape'; expected root, split, outer split, merge, swizzle, logical, allocation, contiguity, "
     "stride_order, stride_order_hint, memory or '}'"},
    {"AnItemTwice", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    memory host
    memory host
  }
}
)",
     "a:7:5: 'memory' is given twice"},
    {"AStepThatMakesAKnownAxis", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    logical [iS0{i0}]
    split iS1{i0} by 4 -> iS0{i0}, iS3{4}
  }
}
)",
     "a:7:27: this axis was named before; a step makes axes of its own"},
    {"AMergeOfOneAxis", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    merge iS1{i0}, iS1{i0} -> iS0{i0}
  }
}
)",
     "a:6:5: an axis cannot be merged with itself"},
    {"ASplitIntoOneAxis", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    split iS1{i0} by 4 -> iS0{i0}, iS0{i0}
  }
}
)",
     "a:6:5: a split makes two different axes"},
    {"AnAxisMadeTwice", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    split iS1{i0} by 4 -> iS0{i0}, iS2{4}
    split iS1{i0} by 5 -> iS0{i0}, iS2{4}
  }
}
)",
     "a:7:5: another step made one of these axes before"},
    {"ASplitWithoutAFactor", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    split iS1{i0} -> iS0{i0}, iS2{4}
  }
}
)",
     "a:6:19: unexpected '->'; expected 'by' and the factor"},
    {"AnOddDensity", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    contiguity [dense]
  }
}
)",
     "a:6:17: unexpected 'dense'; expected 'true', 'false' or 'none'"},
    {"AnUnknownMemoryKind", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Domains:{
  T0:{
    memory disk
  }
}
)",
     "a:6:12: unexpected 'disk'; expected device, pinned or host"},
    {"AScalarTypeTwice", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Scalars:{
  a: float
  a: float
}
)",
     "a:6:3: 'a' has a type already"},
    {"AnUnknownScalarType", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
Scalars:{
  a: f8
}
)",
     "a:5:6: unexpected 'f8'; expected an element type: double, float, __half, __bfloat, int, int64_t or bool"},
    {"ASegmentThatIsNoFusion", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
HostUnit0{
  %Kernel
}
)",
     "a:5:4: unexpected 'Kernel'; expected 'Fusion'"},
    {"AHostStatementInASegment", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
HostUnit0{
  %Fusion f { () -> () :
    StartCoalescing
  }
}
)",
     "a:6:5: a fusion has no 'StartCoalescing'; only host programs have"},
    {"AnAllocateInASegment", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
HostUnit0{
  %Fusion f { () -> () :
    T1_g_float[] = ALLOCATE(buffer=T1_g_float[], mem_type=global, size=1, zero_init=false, resets_to_zero=false)
  }
}
)",
     "a:6:5: a fusion has no ALLOCATE; only host programs have"},
    {"AliasesInASegment", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
HostUnit0{
  %Fusion f { () -> () :
  }
  Aliases:{
  }
}
)",
     "a:7:3: a fusion has no section Aliases"},
    {"TwoUnitsOfANumber", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
HostUnit0{
}
HostUnit00{
}
)",
     "a:6:1: there is a HostUnit0 already"},
    {"AResultWithTwoDefinitionsInASegment", R"(%HostIrContainer { (T0_g_float[iS0{i0}]) -> () :

} // %HostIrContainer
HostUnit0{
  %Fusion f { (T0_l_float[]) -> () :
    T1_l_float[]
       = Set( T0_l_float[] )
    T1_l_float[]
       = Set( T0_l_float[] )
  }
}
)",
     "a:8:5: set: its result already has a definition"},
    {"AnAxisOfANegativeExtent", R"(%HostIrContainer { (T0_g_float[iS0{-1}]) -> () :
}
)",
     "a:1:32: axis: the extent -1 is negative"},
};

std::string messageOf(std::string_view text) {
  try {
    parseHostProgram(text, "a");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Parse);
    return error.message();
  }
  return "nothing was refused";
}

class HostTextMessages : public testing::TestWithParam<Refused> {};

TEST_P(HostTextMessages, SayWhatWasExpectedWhere) {
  const std::string message = messageOf(GetParam().text);
  const size_t first = message.find('\n');
  ASSERT_NE(first, std::string::npos) << message;
  EXPECT_EQ(message.substr(0, first), GetParam().message);
  const size_t second = message.find('\n', first + 1);
  ASSERT_NE(second, std::string::npos) << message;
  // "a:<line>:<column>: ..."
  const auto column = static_cast<size_t>(std::stoul(message.substr(message.find(':', 2) + 1)));
  EXPECT_EQ(message.substr(second + 1), std::string(column - 1, ' ') + "^");
  const std::string line = message.substr(first + 1, second - first - 1);
  EXPECT_NE(std::string_view(GetParam().text).find(line), std::string_view::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(All, HostTextMessages, testing::ValuesIn(kRefused),
                         [](const auto& refused) { return refused.param.name; });

std::string nested(int levels) {
  std::string text = "%HostIrContainer { () -> () :\n";
  for (int level = 1; level <= levels; ++level) text += std::string(2 * static_cast<size_t>(level), ' ') + "IF true:\n";
  return text + "}\n";
}

TEST(HostTextLimits, BlocksNestOnlySoDeep) {
  EXPECT_EQ(messageOf(nested(200)), "nothing was refused");
  EXPECT_NE(messageOf(nested(201)).find("nested too deeply; expected at most 200 levels"), std::string::npos);
}

TEST(HostTextLimits, AMeshHasAtMostEightDimensions) {
  const std::string open(9, '{');
  const std::string close(9, '}');
  const std::string text = "%HostIrContainer { (T0_g_float[] (DeviceMesh" + open + "0" + close + ")) -> () :\n}\n";
  EXPECT_NE(messageOf(text).find("a mesh has at most 8 dimensions"), std::string::npos);
}

}  // namespace
}  // namespace tokamak
