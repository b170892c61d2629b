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

void CallState::adopt(const CallersStream& stream) {
  const std::pair<void*, PyObject*> wanted = {stream.handle, stream.owner.ptr()};
  if (adopted_ == wanted) return;
  stream_ = python::adopt(device_, stream);
  adopted_ = wanted;
}

// (A loop, as calls of the C library for lists of a few numbers take longer.)
static bool liesAlike(const Tensor& place, const ArrayView& array) {
  if (!place.isDefined() || place.dtype() != array.dtype || place.sizes().size() != array.rank) return false;
  const int64_t* const sizes = array.sizesOfAxes().data();
  const int64_t* const strides = array.stridesOfAxes().data();
  for (size_t i = 0; i < array.rank; ++i) {
    if (place.sizes()[i] != sizes[i] || place.strides()[i] != strides[i]) return false;
  }
  return true;
}

void CallState::put(const ArrayView& array, Tensor& place) {
  const bool lies_alike = liesAlike(place, array);
  if (lies_alike && place.data() == array.data && place.buffer()->isReadOnly() != array.is_writeable) return;
  // (Plans know alignments up to 16 bytes.)
  constexpr uintptr_t kMask = 15;
  const auto lowBitsOf = [](const void* address) { return reinterpret_cast<uintptr_t>(address) & kMask; };
  memo.lies_alike = memo.lies_alike && lies_alike && lowBitsOf(place.data()) == lowBitsOf(array.data);
  if (lies_alike && place.tryBorrowAnew(array.data, !array.is_writeable)) return;
  place = Tensor();  // its range goes before another may come that overlaps it
  if (!array.isOnHost()) {
    place = Tensor::borrow(device_, array.data, array.dtype, array.sizesOfAxes(), array.stridesOfAxes(),
                           MemoryKind::Device);
  } else {
    place = Tensor::borrowHost(device_, array.data, array.dtype, array.sizesOfAxes(), array.stridesOfAxes().data(),
                               !array.is_writeable);
  }
  place.buffer()->standForAddress();
}

}  // namespace tokamak::python
