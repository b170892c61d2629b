#include "report/graph_positions.h"

#include <cstddef>

namespace tokamak {

std::vector<double> slotMiddles(const std::vector<LayerSlot>& slots, double apart) {
  struct Pool {
    double weight;
    double mean;
    size_t count;
  };
  std::vector<double> before;  // the least distance from the first middle
  std::vector<Pool> pools;
  for (size_t i = 0; i < slots.size(); ++i) {
    before.push_back(i == 0 ? 0 : before[i - 1] + (slots[i - 1].width + slots[i].width) / 2 + apart);
    pools.push_back({slots[i].weight, slots[i].wanted - before[i], 1});
    while (pools.size() > 1 && pools[pools.size() - 2].mean > pools.back().mean) {
      const Pool right = pools.back();
      pools.pop_back();
      Pool& left = pools.back();
      left.mean = (left.mean * left.weight + right.mean * right.weight) / (left.weight + right.weight);
      left.weight += right.weight;
      left.count += right.count;
    }
  }
  std::vector<double> middles;
  for (const Pool& pool : pools) {
    for (size_t i = 0; i < pool.count; ++i) middles.push_back(pool.mean + before[middles.size()]);
  }
  return middles;
}

}  // namespace tokamak
