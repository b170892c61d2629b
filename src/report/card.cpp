#include "report/card.h"

#include <algorithm>

namespace tokamak {

namespace {

constexpr double kSideMargin = 9;
constexpr double kEndMargin = 5;
constexpr double kLeading = 1.36;
constexpr double kBlank = 5;  // between bold and plain text

double widthOf(const CardLine& line) {
  const double blank = line.bold.empty() || line.plain.empty() ? 0 : kBlank;
  return textWidth(line.bold, line.size, FontWeight::Bold) + blank + textWidth(line.plain, line.size);
}

}  // namespace

Rectangle sizeOf(const Card& card) {
  Rectangle size{0, 0, card.least_width, 2 * kEndMargin};
  for (const CardLine& line : card.lines) {
    size.width = std::max(size.width, widthOf(line) + 2 * kSideMargin);
    size.height += line.size * kLeading;
  }
  return size;
}

void draw(Svg& svg, const Card& card, const Rectangle& at) {
  svg.beginGroup(card.kind, card.data, card.title);
  svg.rectangle(at, card.shape);
  double y = at.y + kEndMargin;
  for (const CardLine& line : card.lines) {
    const double baseline = y + line.size * 1.05;
    double x = at.x + (at.width - widthOf(line)) / 2;
    if (!line.tensor.empty()) svg.beginGroup("tensor", line.tensor, "");
    svg.text({x, baseline}, line.bold, {.size = line.size, .weight = FontWeight::Bold, .colour = line.colour});
    if (!line.bold.empty()) x += textWidth(line.bold, line.size, FontWeight::Bold) + kBlank;
    svg.text({x, baseline}, line.plain, {.size = line.size, .colour = line.colour});
    if (!line.tensor.empty()) svg.endGroup();
    y += line.size * kLeading;
  }
  svg.endGroup();
}

}  // namespace tokamak
