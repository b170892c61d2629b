#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error_of.h"
#include "ir/fusion.h"
#include "ir/text/lexer.h"
#include "ir/text/scalar_text.h"

namespace tokamak {
namespace {

std::vector<std::string> texts(std::string_view text) {
  std::vector<std::string> out;
  for (const Token& token : tokensOf(text)) out.emplace_back(token.text);
  out.pop_back();
  return out;
}

std::string lexingErrorOf(const auto& action) { return errorOf(action).what(); }

TEST(Lexer, CutsWordsNumbersStringsAndPunctuation) {
  EXPECT_THAT(texts("T1 = cast(T0, x=-4) // rest\n->i0{a.b}\"s\\n\""),
              testing::ElementsAre("T1", "=", "cast", "(", "T0", ",", "x", "=", "-", "4", ")", "->", "i0", "{", "a",
                                   ".", "b", "}", "\"s\\n\""));
  EXPECT_EQ(tokensOf("\"s\\n\\x41\"")[0].string, "s\nA");
}

TEST(Lexer, ReadsEveryFormOfNumber) {
  EXPECT_EQ(tokensOf("0xff")[0].integer, 255U);
  EXPECT_EQ(tokensOf("18446744073709551615")[0].integer, 18446744073709551615ULL);
  EXPECT_EQ(tokensOf("0x1.8p+3")[0].number, 12.0);
  EXPECT_EQ(tokensOf("1e-3")[0].number, 0.001);
  EXPECT_EQ(tokensOf("inf")[0].number, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(tokensOf("nan_f32")[0].number));
  EXPECT_EQ(tokensOf("nan_f32")[0].suffix, "f32");
  EXPECT_EQ(tokensOf("0.5_bf16")[0].suffix, "bf16");
  EXPECT_EQ(tokensOf("infinite")[0].kind, TokenKind::Identifier);
  EXPECT_EQ(tokensOf("12ab")[0].kind, TokenKind::Bad);
  EXPECT_EQ(tokensOf("1e999")[0].kind, TokenKind::Bad);
  EXPECT_EQ(tokensOf("0x")[0].kind, TokenKind::Bad);
}

TEST(Lexer, AnErrorNamesThePlaceAndShowsTheLineWithACaret) {
  TokenStream tokens("a\n  b c", "f.fusion");
  tokens.next();
  tokens.next();
  EXPECT_EQ(lexingErrorOf([&] { tokens.expect("="); }), "f.fusion:2:5: unexpected 'c'; expected '='\n  b c\n    ^");
  tokens.next();
  EXPECT_EQ(lexingErrorOf([&] { tokens.expect("="); }),
            "f.fusion:2:6: unexpected end of the text; expected '='\n  b c\n     ^");
}

TEST(Lexer, ColumnsCountCharactersNotBytes) {
  const std::string text = "// \xc3\xa4\n\xc3\xa4";
  EXPECT_EQ(lexingErrorOf([&] { TokenStream(text, "f").next(); }),
            "f:2:1: the byte 0xc3 has no meaning here; expected a name, a number or punctuation\n\xc3\xa4\n^");
}

struct ScalarText : testing::Test {
  Fusion fusion;
  Scalar* i0 = fusion.symbol("i0");
  Scalar* i2 = fusion.symbol("i2");
  Scalar* f0 = fusion.symbol("f0", DataType::F32);

  Scalar* read(std::string_view text, ScalarForm form = ScalarForm::Simplified) {
    TokenStream tokens(text, "f");
    const auto lookup = [&](std::string_view name) -> Scalar* {
      for (Scalar* symbol : {i0, i2, f0}) {
        if (symbol->name() == name) return symbol;
      }
      return nullptr;
    };
    Scalar* scalar = ScalarParser(tokens, fusion, lookup, form).parse();
    if (!tokens.atEnd()) tokens.failExpected("the end");
    return scalar;
  }
  std::string print(const Scalar* scalar) {
    return scalarText(*scalar, [](const Scalar& symbol) { return symbol.name(); });
  }
};

TEST_F(ScalarText, PrecedenceIsThatOfC) {
  EXPECT_EQ(print(read("i0 + i2 * 8 - 3")), "( ( i0 + ( i2 * 8 ) ) - 3 )");
  EXPECT_EQ(print(read("i0 % 2 == 0 && i2 > 4 || !(i0 >= 1)", ScalarForm::AsWritten)),
            "( ( ( ( i0 % 2 ) == 0 ) && ( 4 < i2 ) ) || ( !( 1 <= i0 ) ) )");
  EXPECT_EQ(print(read("-i0 / 2")), "( ( 0 - i0 ) / 2 )");
  EXPECT_EQ(print(read("i0 * 1")), "i0");
  EXPECT_EQ(print(read("4 / 0")), "( 4 / 0 )") << "an error only where it is evaluated";
  EXPECT_EQ(print(read("i0 * 1", ScalarForm::AsWritten)), "( i0 * 1 )");
}

TEST_F(ScalarText, CanonicalTextReadsBackAsTheSameNode) {
  for (const char* text : {"( i0 * 8 )",
                           "( ceilDiv(( i0 * 8 ), 3) )",
                           "( where(( i0 < 4 ), i2, 7) )",
                           "( f32(i0) )",
                           "( min(i0, i2) )",
                           "( rsqrt(f0) )",
                           "( function.where(( i0 < 4 ), f0, 0.5_f32) )",
                           "( neg(f0) )",
                           "0.5_f32",
                           "-0.0",
                           "nan",
                           "-nan",
                           "nan(0x7ff8000000000001)",
                           "-inf_f32",
                           "-9223372036854775808",
                           "3_i32",
                           "true",
                           "1e+300",
                           "0.1_f32",
                           "( max(0.1, 2.0) )"}) {
    Scalar* scalar = read(text, ScalarForm::AsWritten);
    EXPECT_EQ(print(scalar), text);
    EXPECT_EQ(read(print(scalar), ScalarForm::AsWritten), scalar) << text;
  }
}

TEST_F(ScalarText, WrongScalarsAreRefusedWithWhatWasExpected) {
  const auto firstLine = [&](std::string_view text) {
    const std::string message = lexingErrorOf([&] { read(text); });
    return message.substr(0, message.find('\n'));
  };
  EXPECT_EQ(firstLine("i9"), "f:1:1: unknown scalar 'i9'; expected the name of an extent or of a scalar input");
  EXPECT_EQ(firstLine("rsqr(f0)"),
            "f:1:1: unknown function 'rsqr' of scalars; expected ceilDiv, min, max, where, a type or an elementwise "
            "function; did you mean 'rsqrt'?");
  EXPECT_EQ(firstLine("min(i0)"), "f:1:1: 'min' is given 1 operands; expected 2");
  EXPECT_EQ(firstLine("1.5_i32"),
            "f:1:1: the number '1.5_i32' cannot have the type 'i32'; expected f64, f32, f16 or bf16");
  EXPECT_EQ(firstLine("3000000000_i32"),
            "f:1:1: the number '3000000000_i32' does not fit into i32; expected one in its range");
  EXPECT_EQ(firstLine("9223372036854775808"),
            "f:1:1: the number 9223372036854775808 is out of range; expected an integer of 64 bits");
  EXPECT_EQ(firstLine("gcd(f0, f0)"), "f:1:1: 'gcd' is not defined on f32; expected operands of another type");
  EXPECT_EQ(firstLine("addcmul(f0, f0, f0)"), "f:1:1: 'addcmul' takes 4 operands; expected a function of at most 3");
  EXPECT_EQ(firstLine("(i0"), "f:1:4: unexpected end of the text; expected ')'");
}

TEST_F(ScalarText, DeepNestingIsAnErrorNotAnOverflow) {
  const std::string deep(100000, '(');
  EXPECT_THAT(lexingErrorOf([&] { read(deep); }), testing::HasSubstr("nested too deeply; expected at most 200 levels"));
  EXPECT_THAT(lexingErrorOf([&] { read(std::string(100000, '-') + "i0"); }), testing::HasSubstr("nested too deeply"));
  std::string chain = "i0";
  for (int i = 0; i < 100000; ++i) chain += "+i2";
  EXPECT_THAT(lexingErrorOf([&] { read(chain, ScalarForm::AsWritten); }),
              testing::HasSubstr("the expression is too long; expected at most 200 levels of operators"));
}

}  // namespace
}  // namespace tokamak
