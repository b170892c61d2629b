// Svg: a picture as the text of an SVG file, without scripts, fonts or other files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/text_width.h"

namespace tokamak {

/// In pixels; y grows downwards.
struct Point {
  double x = 0;
  double y = 0;
};

struct Rectangle {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

/// Where a text stands with respect to its point.
enum class TextAnchor : uint8_t { Start, Middle, End };

struct TextStyle {
  double size = 11;
  FontWeight weight = FontWeight::Regular;
  std::string_view colour = "#1d2733";
  TextAnchor anchor = TextAnchor::Start;
};

struct ShapeStyle {
  std::string_view fill = "none";
  std::string_view stroke = "none";
  double stroke_width = 1;
  double corner = 0;             ///< radius of a rectangle's corners
  std::string_view dash = {};    ///< "4 3"
  std::string_view marker = {};  ///< id of the marker at the end of a path
};

/// The text with what XML gives a meaning escaped, for contents and for values of attributes.
std::string escapedXml(std::string_view text);

/// Collects the elements of a picture. Coordinates are written with one digit behind the point: equal calls give equal
/// bytes.
/// Thread safety: one thread at a time.
class Svg {
 public:
  /// `data` is the value of attribute data-<kind> of a group, for tools that read the picture; none where `kind` is
  /// empty. `title` is what a viewer shows for it.
  void beginGroup(std::string_view kind, std::string_view data, std::string_view title);
  void endGroup();
  void rectangle(const Rectangle& at, const ShapeStyle& style);
  /// One line; its baseline goes through `at`. The viewer is told the width that was reckoned with.
  void text(const Point& at, std::string_view text, const TextStyle& style);
  /// The path's data ("M 0 0 L 10 10").
  void path(std::string_view data, const ShapeStyle& style);
  void line(const Point& from, const Point& to, const ShapeStyle& style);
  /// An arrow's tip in this colour, for the marker of a path.
  void defineTip(std::string_view id, std::string_view colour);

  /// The whole file. `title` says what the picture shows. `id_prefix` keeps ids of pictures on one page apart.
  std::string finish(double width, double height, std::string_view title, std::string_view id_prefix = "") const;

 private:
  std::string definitions_;
  std::string body_;
};

/// "12.5"; "-0" is "0".
std::string coordinate(double number);

}  // namespace tokamak
