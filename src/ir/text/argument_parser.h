// ArgumentParser: the arguments of calls and schedule commands, with nested calls and expressions.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/fusion.h"
#include "ir/text/call_resolver.h"
#include "ir/text/lexer.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

/// What names stand for while a text is read.
struct TextScope {
  std::unordered_map<std::string, Scalar*> symbols;
  std::unordered_map<std::string, TensorView*> tensors;
  /// Results of statements that were refused: what reads them is neither right nor wrong.
  std::unordered_set<std::string> refused;

  Scalar* findSymbol(std::string_view name) const;
  TensorView* findTensor(std::string_view name) const;
  /// Of tensors and symbols, sorted.
  std::vector<std::string_view> names() const;
};

/// A call that was read but not yet made.
struct WrittenCall {
  const Token* at = nullptr;  ///< where messages say that it stands
  std::string_view name;
  std::vector<CallArgument> arguments;
};

/// A level of nesting while it lives. Errors: Parse at `at` beyond kMaxNesting of them.
class NestingLevel {
 public:
  NestingLevel(const TokenStream& tokens, const Token& at, int& depth);
  NestingLevel(const NestingLevel&) = delete;
  NestingLevel& operator=(const NestingLevel&) = delete;
  ~NestingLevel() { --depth_; }

 private:
  int& depth_;
};

class ArgumentParser {
 public:
  /// Makes a nested call and gives its results.
  using MakeCall = std::function<std::vector<Val*>(const WrittenCall&)>;
  /// Gives the names of all functions, for suggestions.
  using CallNames = std::function<std::vector<std::string_view>()>;
  /// Whether an unknown name alone is an argument (an enumerator's name) also without "name =" in front.
  enum class BareNames : uint8_t { AfterEquals, Everywhere };

  ArgumentParser(TokenStream& tokens, Fusion& fusion, const TextScope& scope, MakeCall make_call, CallNames call_names)
      : tokens_(tokens),
        fusion_(fusion),
        scope_(scope),
        make_call_(std::move(make_call)),
        call_names_(std::move(call_names)) {}

  /// name "(" arguments ")". Errors: Parse.
  WrittenCall parseCall(BareNames bare_names = BareNames::AfterEquals);
  /// Operators, slices and calls over tensors and scalars. Errors: Parse, and those of what is called.
  FieldValue parseExpression();
  /// A call that gives one value. Errors: as parseExpression.
  Val* parseNestedCall();
  /// The one result of a call. Errors: as parseExpression.
  Val* makeOne(const WrittenCall& call);
  /// The tensor of this name. Errors: Parse.
  TensorView* tensorOf(const Token& name) const;
  /// Whether the next tokens are a call that scalars alone can make.
  bool atScalarCall() const;
  /// Whether the next tokens are a call.
  bool atCall() const;
  ScalarParser scalars() const;
  /// A level of parentheses, signs or powers; calls have levels of their own.
  NestingLevel nest(const Token& at) { return {tokens_, at, operator_depth_}; }
  [[noreturn]] void failUnknownName(const Token& name) const;
  /// For a '.' that comes next, where a method or what a module holds is called.
  [[noreturn]] void failMethod() const;
  /// For "function.NAME(" that comes next, where that is no function of scalars or its operands are none.
  [[noreturn]] void failFunction() const;
  /// A number, a flag or a scalar as a scalar; null for anything else.
  Scalar* toScalar(const FieldValue& value);

 private:
  CallArgument argument(BareNames bare_names);
  FieldValue value(bool takes_bare_name);
  FieldValue list();
  bool atOperand() const;

  TokenStream& tokens_;
  Fusion& fusion_;
  const TextScope& scope_;
  MakeCall make_call_;
  CallNames call_names_;
  int call_depth_ = 0;
  int operator_depth_ = 0;
};

}  // namespace tokamak
