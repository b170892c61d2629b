// Card: a box of a picture with lines of text in it.
#pragma once

#include <string>
#include <vector>

#include "report/svg.h"

namespace tokamak {

/// Texts in the middle of a card, one behind the other.
struct CardLine {
  std::string bold;
  std::string plain;
  double size = 11;
  std::string_view colour = "#1d2733";
  std::string tensor = {};  ///< the tensor that the line is about, for readers of the picture; may be empty
};

struct Card {
  std::vector<CardLine> lines;
  ShapeStyle shape;
  std::string kind = {};   ///< what it stands for, as Svg::beginGroup() takes it: "op"
  std::string data = {};   ///< which one
  std::string title = {};  ///< what a viewer shows for it
  double least_width = 0;
};

/// The size of a card around its lines; its corner is at 0, 0.
Rectangle sizeOf(const Card& card);

/// Draws the card at `at`, which is as large as sizeOf() says.
void draw(Svg& svg, const Card& card, const Rectangle& at);

}  // namespace tokamak
