#include "kernel/parse_kernel.h"

#include <unordered_map>

#include <fmt/format.h>

#include "ir/describe.h"
#include "ir/text/names.h"
#include "ir/text/scalar_text.h"

namespace tokamak::kir {

namespace {

constexpr std::string_view kChoose = "choose";

// Names have no scopes here: the last definition counts.
class Parser {
 public:
  explicit Parser(TokenStream& tokens) : tokens_(tokens) {}

  Kernel parse() {
    tokens_.expect("kernel");
    kernel_.name = tokens_.expectIdentifier("the name of the kernel").text;
    kernel_.fusion = std::make_shared<Fusion>(kernel_.name);
    declareSymbols();
    parameters();
    if (tokens_.accept("->")) {
      const bool is_list = tokens_.accept("(");
      do output();
      while (is_list && tokens_.accept(","));
      if (is_list) tokens_.expect(")");
    }
    if (tokens_.accept("align")) kernel_.alignment = tokens_.expectInteger("the alignment of the buffers in bytes");
    while (!tokens_.at("{")) dimension();
    kernel_.body = body();
    return std::move(kernel_);
  }

 private:
  // --- the head ---

  // Symbols are created in the order of their list, before shapes mention them.
  void declareSymbols() {
    const size_t start = tokens_.position();
    int depth = 0;
    do {
      depth += tokens_.at("(") || tokens_.at("[") ? 1 : 0;
      depth -= tokens_.at(")") || tokens_.at("]") ? 1 : 0;
      const Token& name = tokens_.next();
      const bool is_entry = depth == 1 && name.kind == TokenKind::Identifier && tokens_.at(":") &&
                            !tensorNumber(name.text) && !tokens_.peek(2).is("[");
      const auto dtype = is_entry ? dataTypeFromName(tokens_.peek(1).text) : std::nullopt;
      if (dtype) symbols_[std::string(name.text)] = kernel_.fusion->symbol(std::string(name.text), *dtype);
    } while (depth > 0 && !tokens_.atEnd());
    tokens_.setPosition(start);
  }

  void parameters() {
    tokens_.expect("(");
    bool is_first = true;
    while (!tokens_.at(")")) {
      if (!is_first) tokens_.expect(",");
      is_first = false;
      if (tensorNumber(tokens_.peek().text))
        kernel_.fusion->addInput(globalTensor());
      else
        symbolParameter();
    }
    tokens_.expect(")");
  }

  // T2: f32[n:1] updates T0
  void output() {
    TensorView* tensor = globalTensor();
    kernel_.fusion->addOutput(tensor);
    if (!tokens_.accept("updates")) return;
    const Token& name = tokens_.peek();
    const auto input = tensors_.find(tensorName());
    if (input == tensors_.end() || !kernel_.fusion->isInput(input->second))
      tokens_.fail(name, fmt::format("{} is no input; expected one, whose memory {} lies in", describeToken(name),
                                     nameOf(*tensor)));
    kernel_.updates[tensor] = input->second;
  }

  void symbolParameter() {
    const Token& name = tokens_.expectIdentifier("a tensor T<number> or the name of a symbol");
    tokens_.expect(":");
    const Token& type = tokens_.peek();
    const DataType dtype = dataType();
    Scalar*& symbol = symbols_[std::string(name.text)];
    if (symbol == nullptr) symbol = kernel_.fusion->symbol(std::string(name.text), dtype);
    if (symbol->dtype() != dtype)
      tokens_.fail(type, fmt::format("'{}' has the type {} already; expected one type per symbol", name.text,
                                     dataTypeName(symbol->dtype())));
    if (!canNameSymbol(name.text))
      tokens_.fail(
          name, fmt::format("{} cannot name a symbol; expected a name that means nothing else", describeToken(name)));
    kernel_.symbols.push_back(symbol);
  }

  DataType dataType() {
    const Token& name = tokens_.expectIdentifier("a type: f64, f32, f16, bf16, i32, i64 or bool");
    const auto dtype = dataTypeFromName(name.text);
    if (!dtype)
      tokens_.fail(name,
                   fmt::format("unknown type {}; expected f64, f32, f16, bf16, i32, i64 or bool", describeToken(name)));
    return *dtype;
  }

  int64_t tensorName() {
    const Token& name = tokens_.expectIdentifier("a tensor T<number>");
    const auto number = tensorNumber(name.text);
    if (!number) tokens_.fail(name, fmt::format("unexpected {}; expected a tensor T<number>", describeToken(name)));
    return *number;
  }

  TensorView* newTensor(int64_t number, DataType dtype, Axes axes, MemoryType memory) {
    TensorView* tensor = kernel_.fusion->tensor(dtype, std::move(axes));
    tensor->setLabel(number);
    tensor->setMemoryType(memory);
    tensors_[number] = tensor;
    return tensor;
  }

  // T0: f32[extent:stride, ...]; a stride of 0 makes a broadcast axis.
  TensorView* globalTensor() {
    const Token& name = tokens_.peek();
    const int64_t number = tensorName();
    if (tensors_.contains(number))
      tokens_.fail(name, fmt::format("{} is there already; expected another number", describeToken(name)));
    tokens_.expect(":");
    const DataType dtype = dataType();
    ScalarParser shape = scalars(Unknown::IsExtent);
    Fusion& fusion = *kernel_.fusion;
    Axes axes;
    std::vector<Scalar*> strides;
    tokens_.expect("[");
    while (!tokens_.at("]")) {
      if (!axes.empty()) tokens_.expect(",");
      const Token& at = tokens_.peek();
      Scalar* extent = shape.parse();
      tokens_.expect(":");
      strides.push_back(shape.parse());
      for (const Scalar* scalar : {extent, strides.back()}) {
        if (!isIntegerType(scalar->dtype()))
          tokens_.fail(
              at, fmt::format("an extent or stride is of type {}; expected an integer", dataTypeName(scalar->dtype())));
      }
      Fusion::AxisSpec spec{.extent = extent};
      if (strides.back()->isConstantInt(0))
        spec = {.kind = IterKind::Broadcast, .expanded_extent = extent->isConstantInt(1) ? nullptr : extent};
      axes.push_back(tokens_.placed(at, [&] { return fusion.axis(spec); }));
    }
    tokens_.expect("]");
    TensorView* tensor = newTensor(number, dtype, std::move(axes), MemoryType::Global);
    kernel_.tensors.push_back(tensor);
    kernel_.strides[tensor] = std::move(strides);
    return tensor;
  }

  void dimension() {
    const Token& name = tokens_.peek();
    const auto type = name.kind == TokenKind::Identifier ? parallelTypeFromName(name.text) : std::nullopt;
    if (!type || !(isBlockType(*type) || isThreadType(*type)))
      tokens_.failExpected("CIDx, BIDx, BIDy, BIDz, TIDx, TIDy, TIDz or '{'");
    tokens_.next();
    tokens_.expect("in");
    Scalar* extent = scalars().parse();
    Scalar* index = kernel_.fusion->symbol(std::string(parallelTypeDumpName(*type)));
    symbols_[std::string(name.text)] = index;
    kernel_.dimensions.push_back({*type, index, extent});
  }

  // --- scalars ---

  enum class Unknown : uint8_t { IsError, IsExtent };
  ScalarParser scalars(Unknown unknown = Unknown::IsError) {
    const auto lookup = [this, unknown](std::string_view name) -> Scalar* {
      const auto found = symbols_.find(std::string(name));
      if (found != symbols_.end()) return found->second;
      if (unknown == Unknown::IsError || !canNameSymbol(name)) return nullptr;
      return symbols_[std::string(name)] = kernel_.fusion->symbol(std::string(name));
    };
    return {tokens_, *kernel_.fusion, lookup, ScalarForm::AsWritten};
  }

  // --- statements ---

  Statements body() {
    const Token& open = tokens_.expect("{");
    checkDepth(open, ++depth_);
    Statements statements;
    while (!tokens_.at("}")) statements.push_back(statementAt(tokens_.peek()));
    --depth_;
    tokens_.expect("}");
    return statements;
  }

  void checkDepth(const Token& at, int depth) const {
    if (depth > kMaxNesting)
      tokens_.fail(at, fmt::format("nested too deeply; expected at most {} levels", kMaxNesting));
  }

  StatementRef statementAt(const Token& first) {
    if (tokens_.accept("for")) return loop();
    if (tokens_.accept("if")) {
      Scalar* predicate = scalars().parse();
      return statement(If{predicate, body()});
    }
    if (tokens_.accept("let")) return let();
    if (tokens_.accept("reduce")) return reduce();
    if (tokens_.accept("barrier")) return statement(Barrier{});
    if (tokens_.accept("arrive")) return clusterBarrier(ClusterBarrier::Half::Arrive);
    if (tokens_.accept("wait")) return wait();
    if (tokens_.accept("commit")) {
      tokens_.expect("copies");
      return statement(CopyGroup{CopyGroup::Step::Commit, 0});
    }
    if (tokens_.accept("async")) return asyncCopy();
    if (first.kind != TokenKind::Identifier || !tensorNumber(first.text))
      tokens_.failExpected(
          "a statement: for, if, let, reduce, barrier, arrive, wait, async, commit, a tensor T<number>, or '}'");
    if (tokens_.peek(1).is(":")) return allocate();
    return store();
  }

  StatementRef loop() {
    const Token& name = tokens_.expectIdentifier("the name of an index");
    if (!canNameSymbol(name.text))
      tokens_.fail(
          name, fmt::format("{} cannot name an index; expected a name that means nothing else", describeToken(name)));
    tokens_.expect("in");
    Loop loop;
    loop.start = scalars().parse();
    dots();
    loop.stop = scalars().parse();
    if (!tokens_.at("{")) {
      const Token& type = tokens_.expectIdentifier("Unroll, Vectorize or '{'");
      const auto known = parallelTypeFromName(type.text);
      if (!known)
        tokens_.fail(type, fmt::format("unexpected {}; expected Unroll, Vectorize or '{{'", describeToken(type)));
      loop.type = *known;
    }
    loop.index = kernel_.fusion->symbol(std::string(name.text));
    symbols_[std::string(name.text)] = loop.index;
    loop.body = body();
    return statement(std::move(loop));
  }

  StatementRef clusterBarrier(ClusterBarrier::Half half) {
    tokens_.expect("cluster");
    return statement(ClusterBarrier{half});
  }

  // wait cluster, or wait copies but N
  StatementRef wait() {
    if (!tokens_.accept("copies")) return clusterBarrier(ClusterBarrier::Half::Wait);
    CopyGroup group{CopyGroup::Step::Wait, 0};
    if (tokens_.accept("but")) group.pending = tokens_.expectInteger("how many groups of copies may be under way");
    return statement(group);
  }

  StatementRef asyncCopy() {
    const Token& first = tokens_.peek();
    const StatementRef copy = store();
    const auto* synchronous = std::get_if<Copy>(&copy->node);
    if (synchronous == nullptr) tokens_.fail(first, "one element is stored; expected a copy of several, T1[i .. +n]");
    Copy asynchronous = *synchronous;
    asynchronous.is_async = true;
    return statement(asynchronous);
  }

  void dots() {
    tokens_.expect(".");
    tokens_.expect(".");
  }

  // let t0: f32 = VALUE, or let at: i64 in EXTENT = VALUE for a value that is an index.
  StatementRef let() {
    const Token& name = tokens_.expectIdentifier("the name of a value");
    if (!canNameSymbol(name.text))
      tokens_.fail(name,
                   fmt::format("{} cannot name a value; expected a name that means nothing else", describeToken(name)));
    tokens_.expect(":");
    auto variable = std::make_shared<const Variable>(Variable{std::string(name.text), dataType(), nullptr});
    Let let{variable, nullptr, nullptr, nullptr};
    if (tokens_.accept("in")) let.extent = scalars().parse();
    tokens_.expect("=");
    let.value = value();
    if (let.extent != nullptr) {
      let.index = kernel_.fusion->symbol(variable->name);
      symbols_[variable->name] = let.index;
    }
    variables_[variable->name] = variable;
    return statement(std::move(let));
  }

  // reduce blocks over BIDx: sum T1[0 .. +4] spread (TIDx), ... { BODY }
  StatementRef gridReduce() {
    GridReduce grid;
    tokens_.expect("over");
    do grid.dimensions.push_back(dimensionName());
    while (tokens_.accept(","));
    tokens_.expect(":");
    do {
      GridReduce::Value value;
      value.kind = reductionKind();
      const Element element = this->element();
      value.tensor = element.tensor;
      value.index = element.index;
      value.count = element.count.value_or(1);
      tokens_.expect("spread");
      tokens_.expect("(");
      while (!tokens_.at(")")) {
        if (!value.spread.empty()) tokens_.expect(",");
        value.spread.push_back(dimensionName());
      }
      tokens_.expect(")");
      grid.values.push_back(std::move(value));
    } while (tokens_.accept(","));
    grid.body = body();
    return statement(std::move(grid));
  }

  ReductionKind reductionKind() {
    const Token& kind = tokens_.expectIdentifier("sum, prod, max or min");
    const auto found = enumFromName<ReductionKind>(kind.text);
    if (!found) tokens_.fail(kind, fmt::format("unexpected {}; expected sum, prod, max or min", describeToken(kind)));
    return *found;
  }

  ParallelType dimensionName() {
    const Token& name = tokens_.expectIdentifier("CIDx, BIDx, ... or TIDx, ...");
    const auto type = parallelTypeFromName(name.text);
    if (!type)
      tokens_.fail(name, fmt::format("unexpected {}; expected CIDx, BIDx, ... or TIDx, ...", describeToken(name)));
    return *type;
  }

  StatementRef reduce() {
    if (tokens_.accept("blocks")) return gridReduce();
    const ReductionKind kind = reductionKind();
    const Element element = this->element();
    BlockReduce reduce{element.tensor, element.index, element.count.value_or(1), kind, {}};
    tokens_.expect("over");
    do reduce.dimensions.push_back(dimensionName());
    while (tokens_.accept(","));
    return statement(std::move(reduce));
  }

  // T1: f32[size] local. (The same tensor may be allocated several times.)
  StatementRef allocate() {
    const Token& name = tokens_.peek();
    const int64_t number = tensorName();
    tokens_.expect(":");
    const DataType dtype = dataType();
    tokens_.expect("[");
    const Token& size_token = tokens_.peek();
    Scalar* size = scalars().parse();
    tokens_.expect("]");
    const bool is_shared = tokens_.at("shared");
    if (!is_shared && !tokens_.at("local")) tokens_.failExpected("'local' or 'shared'");
    tokens_.next();
    const MemoryType memory = is_shared ? MemoryType::Shared : MemoryType::Local;
    std::optional<CircularBuffer> circular;
    if (tokens_.accept("circular")) {
      circular.emplace();
      circular->stages = tokens_.expectInteger("the number of buffers");
      tokens_.expect("ahead");
      circular->prefetch = tokens_.expectInteger("how many iterations ahead they are filled");
    }
    const auto found = tensors_.find(number);
    if (found == tensors_.end()) {
      IterDomain* axis = tokens_.placed(size_token, [&] { return kernel_.fusion->axis({.extent = size}); });
      TensorView* made = newTensor(number, dtype, {axis}, memory);
      made->setCircularBuffer(circular);
      return statement(Allocate{made, size});
    }
    if (found->second->dtype() != dtype || found->second->memoryType() != memory)
      tokens_.fail(name, fmt::format("{} is there already with another type or memory; expected another number",
                                     describeToken(name)));
    return statement(Allocate{found->second, size});
  }

  StatementRef store() {
    const Element to = element();
    Scalar* block = nullptr;
    if (!to.count && tokens_.accept("of")) {
      tokens_.expect("block");
      block = scalars().parse();
    }
    tokens_.expect("=");
    if (!to.count) return statement(Store{to.tensor, to.index, value(), block});
    const Token& from_token = tokens_.peek();
    const Element from = element();
    if (from.count != to.count)
      tokens_.fail(from_token,
                   fmt::format("{} elements are moved to the left side; expected as many on the right", *to.count));
    return statement(Copy{to.tensor, to.index, from.tensor, from.index, *to.count});
  }

  struct Element {
    const TensorView* tensor;
    Scalar* index;
    std::optional<int64_t> count;  // of T0[index .. +count]
  };

  Element element() {
    const Token& name = tokens_.peek();
    const auto found = tensors_.find(tensorName());
    if (found == tensors_.end())
      tokens_.fail(name, fmt::format("unknown tensor {}; expected a parameter or one that was allocated before",
                                     describeToken(name)));
    tokens_.expect("[");
    Element element{found->second, scalars().parse(), std::nullopt};
    if (tokens_.at(".")) {
      dots();
      tokens_.expect("+");
      element.count = tokens_.expectInteger("a number of elements");
    }
    tokens_.expect("]");
    return element;
  }

  // --- values ---

  ValueRef value() {
    const Token& first = tokens_.peek();
    checkDepth(first, ++depth_);
    ValueRef result = valueAt(first);
    --depth_;
    return result;
  }

  ValueRef valueAt(const Token& first) {
    const bool is_number = ScalarParser(scalars()).atLiteral();
    if (is_number) {
      Scalar* constant = scalars().parse();
      return number(constant, constant->dtype());
    }
    if (first.kind != TokenKind::Identifier && first.kind != TokenKind::Float)
      tokens_.failExpected("a value: a number, a name, T<number>[...] or a call");
    if (tensorNumber(first.text)) {
      const Element element = this->element();
      if (element.count) tokens_.fail(first, "several elements are no value; expected one element of a tensor");
      return load(*element.tensor, element.index);
    }
    tokens_.next();
    if (!tokens_.at("(")) return variable(first);
    if (const auto dtype = dataTypeFromName(first.text)) return converted(*dtype);
    if (first.text == kChoose) return choice();
    return call(first);
  }

  ValueRef variable(const Token& name) {
    const auto found = variables_.find(std::string(name.text));
    if (found == variables_.end())
      tokens_.fail(name,
                   fmt::format("unknown value {}; expected one that a let before has named", describeToken(name)));
    return use(found->second);
  }

  // f32(VALUE) is a cast, f32(SCALAR) a number. A scalar is a name of a symbol or something in parentheses.
  ValueRef converted(DataType dtype) {
    tokens_.expect("(");
    const Token& first = tokens_.peek();
    const bool is_call = first.kind == TokenKind::Identifier && tokens_.peek(1).is("(");
    const bool is_function =
        is_call && (functionFromName(first.text) || dataTypeFromName(first.text) || first.text == kChoose);
    const std::string name(first.text);
    const bool is_variable = variables_.contains(name) && !symbols_.contains(name) && tokens_.peek(1).is(")");
    const bool is_load = first.kind == TokenKind::Identifier && tensorNumber(first.text).has_value();
    ValueRef result;
    const bool is_literal = ScalarParser(scalars()).atLiteral();
    if (is_function || is_variable || is_load || is_literal) {
      const ValueRef operand = value();
      result = std::make_shared<const Value>(Value{.kind = ValueKind::Cast, .dtype = dtype, .operands = {operand}});
    } else {
      result = number(scalars().parse(), dtype);
    }
    tokens_.expect(")");
    return result;
  }

  ValueRef choice() {
    tokens_.expect("(");
    Scalar* predicate = scalars().parse();
    tokens_.expect(",");
    ValueRef a = value();
    tokens_.expect(",");
    ValueRef b = value();
    tokens_.expect(")");
    return choose(predicate, std::move(a), std::move(b));
  }

  ValueRef call(const Token& name) {
    const auto function = functionFromName(name.text);
    if (!function)
      tokens_.fail(name, fmt::format("unknown function {}; expected choose, a type or an elementwise function",
                                     describeToken(name)));
    tokens_.expect("(");
    std::vector<ValueRef> operands;
    do operands.push_back(value());
    while (tokens_.accept(","));
    tokens_.expect(")");
    const FunctionInfo& info = functionInfo(*function);
    if (operands.size() != static_cast<size_t>(info.arity))
      tokens_.fail(name, fmt::format("'{}' is given {} operands; expected {}", info.name, operands.size(), info.arity));
    const auto types = functionTypes(*function, operands.back()->dtype);
    if (!types)
      tokens_.fail(name, fmt::format("'{}' is not defined on {}; expected operands of another type", info.name,
                                     dataTypeName(operands.back()->dtype)));
    return apply(*function, types->result, std::move(operands));
  }

  TokenStream& tokens_;
  Kernel kernel_;
  std::unordered_map<std::string, Scalar*> symbols_;
  std::unordered_map<std::string, VariableRef> variables_;
  std::unordered_map<int64_t, TensorView*> tensors_;
  int depth_ = 0;
};

}  // namespace

Kernel parseKernel(TokenStream& tokens) { return Parser(tokens).parse(); }

Kernel parseKernel(std::string_view text, std::string_view file) {
  TokenStream tokens(text, file);
  Kernel kernel = parseKernel(tokens);
  if (!tokens.atEnd()) tokens.failExpected("the end of the text");
  return kernel;
}

}  // namespace tokamak::kir
