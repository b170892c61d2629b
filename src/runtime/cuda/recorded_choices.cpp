#include "runtime/cuda/recorded_choices.h"

#include <cstring>
#include <string_view>
#include <utility>

namespace tokamak {

RecordedChoices::RecordedChoices(std::shared_ptr<KernelCache> cache, ChoiceConditions conditions)
    : cache_(std::move(cache)), conditions_(std::move(conditions)) {}

CacheKey RecordedChoices::keyOf(const std::string& product) const {
  return CacheKey({{"kind", "cuBLASLt choice"},
                   {"library", conditions_.library},
                   {"target", conditions_.target},
                   {"preference", conditions_.preference},
                   {"product", product}});
}

std::optional<cublas::Algorithm> RecordedChoices::find(const std::string& product) const {
  const std::optional<std::string> kept = cache_->find(keyOf(product));
  cublas::Algorithm algorithm;
  if (!kept || kept->size() != sizeof(algorithm.data)) return std::nullopt;
  std::memcpy(static_cast<void*>(algorithm.data), kept->data(), sizeof(algorithm.data));
  return algorithm;
}

void RecordedChoices::store(const std::string& product, const cublas::Algorithm& algorithm) {
  cache_->store(keyOf(product),
                std::string_view(reinterpret_cast<const char*>(algorithm.data), sizeof(algorithm.data)));
}

}  // namespace tokamak
