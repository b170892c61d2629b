#include "host/ir/text/text_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "host/ir/text/program_names.h"

namespace tokamak {

namespace {

std::optional<int64_t> numberOf(std::string_view digits) {
  int64_t number = 0;
  const char* last = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), last, number);
  const bool is_number = !digits.empty() && isDigit(digits[0]) && result.ec == std::errc() && result.ptr == last;
  if (!is_number || number > kLargestNumber) return std::nullopt;
  return number;
}

// "iStreamIdx12" is a kind, a parallel type and a number.
struct AxisName {
  IterKind kind;
  ParallelType parallel;
  int64_t number;
};

std::optional<AxisName> axisNameOf(std::string_view word) {
  if (word.empty()) return std::nullopt;
  const auto kind = iterKindFromLetter(word[0]);
  size_t digits = word.size();
  while (digits > 0 && isDigit(word[digits - 1])) --digits;
  const auto number = numberOf(word.substr(digits));
  if (!kind || !number || digits == 0) return std::nullopt;
  const auto parallel = parallelTypeFromDumpName(word.substr(1, digits - 1));
  if (!parallel) return std::nullopt;
  return AxisName{*kind, *parallel, *number};
}

}  // namespace

bool startsTensor(const Token& token) {
  return token.kind == TokenKind::Identifier && token.text.size() > 1 && token.text[0] == 'T' && isDigit(token.text[1]);
}

std::optional<int64_t> numberAfter(std::string_view word, const Token& token) {
  if (token.kind != TokenKind::Identifier || !token.text.starts_with(word)) return std::nullopt;
  return numberOf(token.text.substr(word.size()));
}

size_t columnOf(const TokenStream& tokens, const Token& token) {
  const std::string_view before = tokens.text().substr(0, token.offset);
  const size_t newline = before.rfind('\n');
  return newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
}

std::optional<DataType> constantType(const Token& token) {
  if (token.kind != TokenKind::Identifier) return std::nullopt;
  const auto type = dataTypeFromDumpName(token.text);
  return type == DataType::Bool || type == DataType::I64 ? std::nullopt : type;
}

TextReader::TextReader(TokenStream& tokens, Fusion& program, HostIrContainer* host)
    : tokens_(&tokens), program_(&program), host_(host) {
  if (host != nullptr) symbols_.emplace(host->numberOfStreams()->name(), host->numberOfStreams());
}

size_t TextReader::endOffset() const {
  const size_t position = tokens_->position();
  if (position == 0) return 0;
  tokens_->setPosition(position - 1);
  const Token& last = tokens_->peek();
  tokens_->setPosition(position);
  return last.offset + last.text.size();
}

std::string_view TextReader::textSince(size_t offset) const {
  const size_t end = endOffset();
  return tokens_->text().substr(offset, end > offset ? end - offset : 0);
}

Scalar* TextReader::symbol(std::string_view name) {
  if (const auto found = symbols_.find(name); found != symbols_.end()) return found->second;
  const auto typed = symbol_types_.find(name);
  const DataType dtype = typed != symbol_types_.end() ? typed->second : symbolTypeFromName(name);
  Scalar* made = program_->symbol(std::string(name), dtype);
  symbols_.emplace(name, made);
  return made;
}

Scalar* TextReader::constantOf(DataType dtype) {
  tokens_->next();
  tokens_->expect("(");
  const Token& at = tokens_->peek();
  ScalarParser parser(*tokens_, *program_, [](std::string_view) { return nullptr; }, ScalarForm::AsWritten);
  if (!parser.atLiteral()) tokens_->failExpected(fmt::format("a number of type {}", dumpName(dtype)));
  const ScalarReading reading = parser.parseReading();
  const bool fits = reading.is_plain_literal && reading.scalar->isConstant() &&
                    (isFloatingType(dtype) || reading.scalar->constantInt().has_value());
  if (!fits)
    tokens_->fail(at, fmt::format("this is no number of type {}; expected one without a suffix", dumpName(dtype)));
  const ScalarValue value = convertValue(reading.scalar->value(), dtype);
  const bool is_lost = isIntegerType(dtype) && value != reading.scalar->value();
  if (is_lost) tokens_->fail(at, fmt::format("the number does not fit into {}", dumpName(dtype)));
  tokens_->expect(")");
  return program_->constant(value, dtype);
}

Scalar* TextReader::scalar(std::string_view what) {
  const Token& token = tokens_->peek();
  const auto lookup = [this](std::string_view name) -> Scalar* {
    return isProgramSymbolName(name) ? symbol(name) : nullptr;
  };
  ScalarParser parser(*tokens_, *program_, lookup, ScalarForm::AsWritten);
  if (const auto type = constantType(token)) return constantOf(*type);
  if (token.is("(")) {
    tokens_->next();
    Scalar* inner = constantType(tokens_->peek()) ? constantOf(*constantType(tokens_->peek())) : parser.parse();
    tokens_->expect(")");
    return inner;
  }
  if (parser.atLiteral()) {
    const bool is_flag = token.is("true") || token.is("false");
    const bool has_sign = token.is("-");
    const Token& literal = tokens_->peek(has_sign ? 1 : 0);
    const bool is_plain = is_flag || (literal.kind == TokenKind::Integer && literal.suffix.empty());
    if (!is_plain) {
      tokens_->fail(token, fmt::format("unexpected {}; expected a constant with its type, as in float(0.5)",
                                       describeToken(literal)));
    }
    if (is_flag) {
      tokens_->next();
      return program_->constant(ScalarValue{token.is("true")}, DataType::Bool);
    }
    return program_->constant(tokens_->expectInteger(what));
  }
  if (token.kind != TokenKind::Identifier || !isProgramSymbolName(token.text)) tokens_->failExpected(what);
  return symbol(tokens_->next().text);
}

Scalar* TextReader::scalarOrNone() { return tokens_->accept("none") ? nullptr : scalar(); }

IterDomain* TextReader::axis() {
  constexpr std::string_view kWhat = "an axis such as iS0{i0}";
  const Token& start = tokens_->peek();
  std::string word = tokens_->accept("?") ? "?" : "";
  if (tokens_->peek().kind != TokenKind::Identifier) tokens_->failExpected(kWhat);
  word += tokens_->next().text;
  if (tokens_->at(".")) {
    tokens_->next();
    word += fmt::format(".{}", tokens_->expectIdentifier("the rest of an axis' name, as in ideviceIdx.x0").text);
  }
  const auto name = axisNameOf(word);
  if (!name) {
    tokens_->fail(start,
                  fmt::format("'{}' names no axis; expected one of the letters irbsnv?, a parallel type (S, StreamIdx, "
                              "deviceIdx.x, ...) and a number",
                              word));
  }
  if (!tokens_->at("{")) tokens_->failExpected(fmt::format("'{{' and the extent of axis {}", word));
  tokens_->next();
  Fusion::AxisSpec spec{.kind = name->kind, .extent = scalar("an extent"), .parallel = name->parallel};
  if (tokens_->accept("ex")) spec.expanded_extent = scalar("an expanded extent");
  tokens_->expect("}");
  spec.is_rfactor = tokens_->accept("rf");
  const auto known = axes_.find(name->number);
  if (known == axes_.end()) {
    IterDomain* made = tokens_->placed(start, [&] { return program_->axis(spec); });
    axes_[name->number] = {made, textSince(start.offset)};
    axis_order_.emplace(made, axis_order_.size());
    return made;
  }
  const IterDomain& have = *known->second.part;
  const bool is_same = have.kind() == spec.kind && have.parallelType() == spec.parallel &&
                       have.extent() == spec.extent && have.expandedExtent() == spec.expanded_extent &&
                       have.isRFactor() == spec.is_rfactor;
  if (!is_same) {
    tokens_->fail(start, fmt::format("axis {} was '{}' before; all mentions of an axis must agree", name->number,
                                     known->second.text));
  }
  return known->second.part;
}

Axes TextReader::axes() {
  Axes list;
  tokens_->expect("[");
  if (tokens_->accept("]")) return list;
  do list.push_back(axis());
  while (tokens_->accept(","));
  expectClosing("]");
  return list;
}

bool TextReader::isKnownAxis(const IterDomain* axis, size_t since) const { return axis_order_.at(axis) < since; }

bool TextReader::atTensor() const { return startsTensor(tokens_->peek()); }

TextReader::TensorName TextReader::tensorName() {
  const Token& token = tokens_->peek();
  if (!atTensor()) tokens_->failExpected("a tensor such as T0_g_float[iS0{i0}]");
  tokens_->next();
  const std::string_view word = token.text;
  const size_t first = word.find('_');
  const auto refuse = [&](std::string_view why) { tokens_->fail(token, fmt::format("'{}': {}", word, why)); };
  const auto number = numberOf(word.substr(1, first == std::string_view::npos ? first : first - 1));
  if (!number) refuse("expected T and a number up to 1000000000");
  const bool has_parts = first != std::string_view::npos && word.size() > first + 3 && word[first + 2] == '_';
  if (!has_parts) refuse("expected the memory and the element type after the number, as in T0_g_float");
  const auto memory = memoryTypeFromLetter(word[first + 1]);
  if (!memory) refuse("the memory is one of l, s, g, t");
  const auto dtype = dataTypeFromDumpName(word.substr(first + 3));
  if (!dtype) refuse("the element type is one of double, float, __half, __bfloat, int, int64_t, bool");
  return {*number, *memory, *dtype};
}

void TextReader::meshRow(DeviceMesh& mesh, size_t dimension) {
  constexpr size_t kMaxDimensions = 8;
  const Token& open = tokens_->expect("{");
  if (dimension >= kMaxDimensions) tokens_->fail(open, "a mesh has at most 8 dimensions");
  int64_t count = 0;
  const bool is_row = !tokens_->at("{");
  // The first device's row tells how deep the rows are.
  const bool is_like_first = mesh.devices.empty() || is_row == (dimension + 1 == mesh.shape.size());
  if (!is_like_first) tokens_->fail(open, "all rows of a mesh must be equally deep");
  for (; !tokens_->at("}"); ++count) {
    if (is_row)
      mesh.devices.push_back(unsignedInteger("a device number, '}' or '{'"));
    else
      meshRow(mesh, dimension + 1);
  }
  const Token& close = tokens_->next();
  if (count == 0) tokens_->fail(close, "unexpected '}'; expected a device number");
  if (mesh.shape.size() <= dimension) mesh.shape.resize(dimension + 1, -1);
  int64_t& extent = mesh.shape[dimension];
  if (extent >= 0 && extent != count) tokens_->fail(close, "all rows of a mesh must be equally long");
  extent = count;
}

DeviceMesh TextReader::mesh() {
  DeviceMesh mesh;
  if (!tokens_->at("(") || !tokens_->peek(1).is("DeviceMesh")) return mesh;
  tokens_->next();
  tokens_->next();
  meshRow(mesh, 0);
  tokens_->expect(")");
  return mesh;
}

// "(Partial{sum DIDx})", one behind the other.
std::vector<Partial> TextReader::partials() {
  std::vector<Partial> list;
  while (tokens_->at("(") && tokens_->peek(1).is("Partial")) {
    tokens_->next();
    tokens_->next();
    tokens_->expect("{");
    const auto kind = enumFromName<ReductionKind>(tokens_->peek().text);
    if (!kind) tokens_->failExpected("how the terms are combined: sum, prod, max or min");
    tokens_->next();
    const auto type = parallelTypeFromName(tokens_->peek().text);
    if (!type || *type < ParallelType::DIDx || *type > ParallelType::DIDz)
      tokens_->failExpected("a device axis: DIDx, DIDy or DIDz");
    tokens_->next();
    tokens_->expect("}");
    tokens_->expect(")");
    list.push_back({.kind = *kind, .type = *type});
  }
  return list;
}

TensorView* TextReader::tensor() {
  const Token& start = tokens_->peek();
  const TensorName name = tensorName();
  if (!tokens_->at("[")) tokens_->failExpected(fmt::format("'[' and the axes of T{}", name.number));
  Axes loop = axes();
  DeviceMesh devices = mesh();
  std::vector<Partial> terms = partials();
  const auto known = tensors_.find(name.number);
  if (known == tensors_.end()) {
    TensorView* made = makeTensor(name, std::move(loop), std::move(devices));
    made->setPartials(std::move(terms));
    tensors_[name.number] = {made, textSince(start.offset)};
    return made;
  }
  const TensorView& have = *known->second.part;
  const bool is_same = have.memoryType() == name.memory && have.dtype() == name.dtype && have.loop() == loop &&
                       have.mesh() == devices && have.partials() == terms;
  if (!is_same) {
    tokens_->fail(start, fmt::format("T{} was '{}' before; all mentions of a tensor must agree", name.number,
                                     known->second.text));
  }
  return known->second.part;
}

TensorView* TextReader::makeTensor(const TensorName& name, Axes loop, DeviceMesh mesh) {
  TensorDomain domain;
  const auto found = domains_.find(name.number);
  DomainEntry* entry = found == domains_.end() ? nullptr : &found->second;
  if (entry != nullptr) domain = entry->domain;
  domain.logical = entry != nullptr && entry->logical ? *entry->logical : loop;
  domain.loop = loop;
  TensorView* made = program_->tensor(name.dtype, std::move(domain));
  made->mutableDomain().loop = std::move(loop);
  made->setLabel(name.number);
  made->setMemoryType(name.memory);
  made->setMesh(std::move(mesh));
  if (entry == nullptr) return made;
  entry->is_used = true;
  if (entry->contiguity) made->mutableDomain().contiguity = *entry->contiguity;
  if (entry->memory) made->setMemoryKind(*entry->memory);
  if (entry->memory) memories_[made] = *entry->memory;
  return made;
}

void TextReader::setMemory(TensorView* tensor, MemoryKind kind, const Token& at) {
  const auto [found, is_first] = memories_.try_emplace(tensor, kind);
  if (!is_first && found->second != kind) {
    tokens_->fail(at, fmt::format("{} was given {} memory before; one tensor has one kind of memory", nameOf(*tensor),
                                  memoryKindName(found->second)));
  }
  tensor->setMemoryKind(kind);
}

StreamVal* TextReader::stream() {
  if (!tokens_->at("Stream")) tokens_->failExpected("a stream such as Stream 0 or Stream ( i0 )");
  const Token& start = tokens_->next();
  if (tokens_->accept("default")) {
    if (host_ == nullptr) tokens_->fail(start, "only a host program has a default stream");
    return host_->defaultStream();
  }
  if (tokens_->at("(")) {
    Scalar* index = scalar("the index of a stream");
    StreamVal*& worker = workers_[index];
    if (worker == nullptr) worker = program_->stream(index);
    return worker;
  }
  if (tokens_->peek().kind != TokenKind::Integer)
    tokens_->failExpected("the number of a stream, '(' and an index, or 'default'");
  StreamVal*& stream = streams_[unsignedInteger("the number of a stream")];
  if (stream == nullptr) stream = program_->stream();
  return stream;
}

Val* TextReader::val() {
  if (atTensor()) return tensor();
  if (tokens_->at("Stream")) return stream();
  return scalar("a tensor, a stream or a scalar");
}

int64_t TextReader::unsignedInteger(std::string_view what) {
  const Token& token = tokens_->peek();
  if (token.kind != TokenKind::Integer) tokens_->failExpected(what);
  const int64_t number = tokens_->expectInteger(what);
  if (number > kLargestNumber)
    tokens_->fail(token, fmt::format("{} is too large; expected at most {}", number, kLargestNumber));
  return number;
}

int64_t TextReader::axisPosition(const Axes& axes, std::string_view where) {
  const Token& start = tokens_->peek();
  if (start.kind == TokenKind::Integer || start.is("-")) return tokens_->expectInteger("an axis");
  const IterDomain* named = axis();
  const auto found = std::ranges::find(axes, named);
  if (found == axes.end()) tokens_->fail(start, fmt::format("this is no axis of {}", where));
  return found - axes.begin();
}

bool TextReader::flag() {
  if (!tokens_->at("true") && !tokens_->at("false")) tokens_->failExpected("'true' or 'false'");
  return tokens_->next().is("true");
}

DataType TextReader::dataType() {
  const auto type = dataTypeFromDumpName(tokens_->peek().text);
  if (!type) tokens_->failExpected("an element type: double, float, __half, __bfloat, int, int64_t or bool");
  tokens_->next();
  return *type;
}

EnumValue TextReader::enumerator(EnumValue like, std::string_view what) {
  const auto found = std::ranges::find(like.names, tokens_->peek().text);
  if (found == like.names.end()) {
    tokens_->failExpected(fmt::format("{}: {}", what, joined(like.names)));
  }
  tokens_->next();
  like.index = static_cast<size_t>(found - like.names.begin());
  return like;
}

void TextReader::expectName(std::string_view name) {
  if (!tokens_->at(name)) tokens_->failExpected(fmt::format("'{} ='", name));
  tokens_->next();
  tokens_->expect("=");
}

void TextReader::expectClosing(std::string_view closing) {
  if (!tokens_->at(closing)) tokens_->failExpected(fmt::format("',' or '{}'", closing));
  tokens_->next();
}

std::shared_ptr<const HostSegment> TextReader::segment() {
  const Token& token = tokens_->peek();
  const auto number = numberAfter("HostUnit", token);
  if (!number) tokens_->failExpected("a segment such as HostUnit0");
  tokens_->next();
  const auto found = segments_.find(*number);
  if (found == segments_.end()) {
    tokens_->fail(token, fmt::format("{} is not in the text; expected a section {}{{..}} after the program", token.text,
                                     token.text));
  }
  return found->second;
}

FieldValue TextReader::value(const FieldValue& like, std::string_view name) {
  return std::visit(
      [&]<class T>(const T& example) -> FieldValue {
        if constexpr (std::is_same_v<T, Val*>)
          return val();
        else if constexpr (std::is_same_v<T, Scalar*>)
          return scalarOrNone();
        else if constexpr (std::is_same_v<T, IterDomain*>)
          return tokens_->accept("none") ? nullptr : axis();
        else if constexpr (std::is_same_v<T, std::vector<Val*>>)
          return braced([this] { return val(); });
        else if constexpr (std::is_same_v<T, std::vector<Scalar*>>)
          return braced([this] { return scalarOrNone(); });
        else if constexpr (std::is_same_v<T, int64_t>)
          return tokens_->expectInteger(fmt::format("an integer for '{}'", name));
        else if constexpr (std::is_same_v<T, bool>)
          return flag();
        else if constexpr (std::is_same_v<T, DataType>)
          return dataType();
        else if constexpr (std::is_same_v<T, EnumValue>)
          return enumerator(example, fmt::format("one of the names of '{}'", name));
        else if constexpr (std::is_same_v<T, std::vector<int64_t>>)
          return braced([this] { return tokens_->expectInteger("an integer"); });
        else if constexpr (std::is_same_v<T, std::vector<bool>>)
          return braced([this] { return flag(); });
        else if constexpr (std::is_same_v<T, std::shared_ptr<const HostSegment>>) {
          return tokens_->accept("none") ? nullptr : segment();
        } else if constexpr (std::is_same_v<T, double>) {
          ScalarParser parser(*tokens_, *program_, [](std::string_view) { return nullptr; }, ScalarForm::AsWritten);
          if (!parser.atLiteral()) tokens_->failExpected(fmt::format("a number for '{}'", name));
          return asDouble(parser.parse()->value());
        } else if constexpr (std::is_same_v<T, std::string>) {
          if (tokens_->peek().kind != TokenKind::String) tokens_->failExpected(fmt::format("a string for '{}'", name));
          return tokens_->next().string;
        } else {
          tokens_->failExpected(fmt::format("no value for '{}'", name));
        }
      },
      like);
}

}  // namespace tokamak
