// Lanes: a picture of work on streams: a column per stream, time downwards, arrows where one thing follows another.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/card.h"
#include "report/svg.h"

namespace tokamak {

struct LaneItem {
  size_t lane = 0;
  Card card;
};

struct LaneArrow {
  enum class Kind : uint8_t {
    Value,  ///< the second reads what the first one gives
    Order,  ///< the second waits for the first one
  };
  size_t from = 0;  ///< an item
  size_t to = 0;    ///< a later one
  Kind kind = Kind::Value;
};

/// A frame around items that stand one behind the other, of all lanes: a loop.
struct LaneFrame {
  size_t first = 0;
  size_t last = 0;
  size_t depth = 0;
  std::string label;
};

enum class LaneRows : uint8_t {
  Sequence,  ///< each item below the one before it: the order of a text
  AsSoon,    ///< each item right below what it follows in its lane or by an arrow: what may run side by side does
};

struct Lanes {
  std::string heading;
  std::string below;  ///< a line below the heading
  std::vector<std::string> lanes;
  std::vector<LaneItem> items;
  std::vector<LaneArrow> arrows;
  std::vector<LaneFrame> frames;  ///< outer ones before those in them; with Sequence alone
  LaneRows rows = LaneRows::Sequence;
};

/// As an SVG file. Boxes stand in their lanes; arrows run between rows and between lanes, through no box.
std::string drawLanes(const Lanes& lanes, std::string_view title, std::string_view id_prefix = "");

}  // namespace tokamak
