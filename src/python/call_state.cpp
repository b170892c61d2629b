#include "python/call_state.h"

#include <algorithm>

#include "jit/open_device.h"

namespace tokamak::python {

void CallState::begin() {
  scalars.clear();
  key.clear();
  type = nullptr;
  const uint32_t raises = device_.raiseCount().load();
  if (raises == raises_) return;
  raises_ = raises;
  for (std::vector<Tensor>* tensors : {&inputs, &outputs}) std::ranges::fill(*tensors, Tensor());
}

void CallState::adopt(void* stream) {
  if (adopted_ == stream) return;
  stream_ = adoptCudaStream(device_, stream);
  adopted_ = stream;
}

void CallState::put(const ArrayView& array, Tensor& place) {
  const bool lies_alike = place.isDefined() && place.dtype() == array.dtype &&
                          std::ranges::equal(place.sizes(), array.sizesOfAxes()) &&
                          std::ranges::equal(place.strides(), array.stridesOfAxes());
  const bool is_there = lies_alike && place.data() == array.data && place.buffer()->isReadOnly() != array.is_writeable;
  if (is_there || (lies_alike && place.tryBorrowAnew(array.data, !array.is_writeable))) return;
  place = Tensor();  // its range goes before another may come that overlaps it
  if (!array.isOnHost()) {
    place = Tensor::borrow(device_, array.data, array.dtype, array.sizesOfAxes(), array.stridesOfAxes(),
                           MemoryKind::Device);
    return;
  }
  place = Tensor::borrowHost(device_, array.data, array.dtype, array.sizesOfAxes(), array.strides.data(),
                             !array.is_writeable);
}

}  // namespace tokamak::python
