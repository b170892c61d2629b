// ArgumentParser: the arguments of calls and schedule commands, with nested calls.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/fusion.h"
#include "ir/text/call_resolver.h"
#include "ir/text/lexer.h"
#include "ir/text/scalar_text.h"

namespace tokamak {

/// What names stand for while a text is read.
struct TextScope {
  std::unordered_map<std::string, Scalar*> symbols;
  std::unordered_map<int64_t, TensorView*> tensors;
  Scalar* findSymbol(std::string_view name) const;
};

/// A call that was read but not yet made.
struct WrittenCall {
  const Token* name = nullptr;
  std::vector<CallArgument> arguments;
};

class ArgumentParser {
 public:
  /// Makes a nested call and gives its results.
  using MakeCall = std::function<std::vector<Val*>(const WrittenCall&)>;
  /// Whether an unknown name alone is an argument (an enumerator's name) also without "name =" in front.
  enum class BareNames : uint8_t { AfterEquals, Everywhere };

  ArgumentParser(TokenStream& tokens, Fusion& fusion, const TextScope& scope, MakeCall make_call)
      : tokens_(tokens), fusion_(fusion), scope_(scope), make_call_(std::move(make_call)) {}

  /// name "(" arguments ")". Errors: Parse.
  WrittenCall parseCall(BareNames bare_names = BareNames::AfterEquals);
  /// The tensor of this name. Errors: Parse.
  TensorView* tensorOf(const Token& name) const;
  ScalarParser scalars() const;

 private:
  CallArgument argument(BareNames bare_names);
  FieldValue value(bool takes_bare_name);
  FieldValue list();
  FieldValue scalar();
  FieldValue nestedCall();
  bool atScalarCall() const;
  Scalar* toScalar(const FieldValue& element);

  TokenStream& tokens_;
  Fusion& fusion_;
  const TextScope& scope_;
  MakeCall make_call_;
  int depth_ = 0;
};

}  // namespace tokamak
