#include "report/svg.h"

#include <cmath>

#include <fmt/format.h>

namespace tokamak {

namespace {

constexpr std::string_view kFonts = "Helvetica, Arial, 'Liberation Sans', 'Nimbus Sans', sans-serif";
// What stands for the prefix of ids until finish() knows it; no text of a picture can hold it.
constexpr char kPrefix = '\x01';

std::string paint(const ShapeStyle& style) {
  std::string text = fmt::format(R"( fill="{}")", style.fill);
  if (style.stroke != "none")
    text += fmt::format(R"( stroke="{}" stroke-width="{}")", style.stroke, coordinate(style.stroke_width));
  if (!style.dash.empty()) text += fmt::format(R"( stroke-dasharray="{}")", style.dash);
  if (!style.marker.empty()) text += fmt::format(" marker-end=\"url(#{}{})\"", kPrefix, style.marker);
  return text;
}

std::string withPrefix(const std::string& text, std::string_view prefix) {
  std::string result;
  for (const char c : text) {
    if (c == kPrefix)
      result += prefix;
    else
      result += c;
  }
  return result;
}

}  // namespace

std::string coordinate(double number) {
  const double rounded = std::round(number * 10) / 10;
  std::string text = fmt::format("{:.1f}", rounded == 0 ? 0.0 : rounded);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

std::string escapedXml(std::string_view text) {
  std::string result;
  for (const char c : printableText(text)) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

void Svg::beginGroup(std::string_view kind, std::string_view data, std::string_view title) {
  body_ += kind.empty() ? "<g>" : fmt::format(R"(<g data-{}="{}">)", kind, escapedXml(data));
  if (!title.empty()) body_ += fmt::format("<title>{}</title>", escapedXml(title));
  body_ += '\n';
}

void Svg::endGroup() { body_ += "</g>\n"; }

void Svg::rectangle(const Rectangle& at, const ShapeStyle& style) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}")", coordinate(at.x), coordinate(at.y),
                       coordinate(at.width), coordinate(at.height));
  if (style.corner > 0) body_ += fmt::format(R"( rx="{}")", coordinate(style.corner));
  body_ += paint(style) + "/>\n";
}

void Svg::text(const Point& at, std::string_view text, const TextStyle& style) {
  if (text.empty()) return;
  const std::string printed = printableText(text);
  body_ +=
      fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}" textLength="{}" lengthAdjust="spacingAndGlyphs")",
                  coordinate(at.x), coordinate(at.y), coordinate(style.size), style.colour,
                  coordinate(textWidth(printed, style.size, style.weight)));
  if (style.weight == FontWeight::Bold) body_ += R"( font-weight="bold")";
  if (style.anchor != TextAnchor::Start)
    body_ += fmt::format(R"( text-anchor="{}")", style.anchor == TextAnchor::Middle ? "middle" : "end");
  body_ += fmt::format(">{}</text>\n", escapedXml(printed));
}

void Svg::path(std::string_view data, const ShapeStyle& style) {
  body_ += fmt::format(R"(<path d="{}"{}/>)", data, paint(style)) + '\n';
}

void Svg::line(const Point& from, const Point& to, const ShapeStyle& style) {
  path(fmt::format("M{} {}L{} {}", coordinate(from.x), coordinate(from.y), coordinate(to.x), coordinate(to.y)), style);
}

void Svg::defineTip(std::string_view id, std::string_view colour) {
  definitions_ +=
      fmt::format(R"(<marker id="{}{}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" )"
                  R"(markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0.5L8 4L0 7.5z" fill="{}"/></marker>)",
                  kPrefix, id, colour);
}

std::string Svg::finish(double width, double height, std::string_view title, std::string_view id_prefix) const {
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"{2}\">\n<title>{3}</title>\n",
      coordinate(std::ceil(width)), coordinate(std::ceil(height)), kFonts, escapedXml(title));
  if (!definitions_.empty()) text += fmt::format("<defs>{}</defs>\n", withPrefix(definitions_, id_prefix));
  text += fmt::format(R"(<rect width="{}" height="{}" fill="#ffffff"/>)", coordinate(std::ceil(width)),
                      coordinate(std::ceil(height)));
  return text + '\n' + withPrefix(body_, id_prefix) + "</svg>\n";
}

}  // namespace tokamak
