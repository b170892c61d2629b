#include "runtime/cuda/cuda_host_work.h"

#include "base/require.h"

namespace tokamak {

namespace {

[[noreturn]] void refuseCapture(const CudaHostWork& work) {
  TK_RAISE(Unsupported,
           "{}: its stream is captured; what waits for other ranks is no part of a graph, so it has to run "
           "outside of the capture",
           work.name());
}

}  // namespace

void CudaHostWork::makeReadyOn(DriverContext& context, driver::Stream stream) const {
  const CurrentContext current(context);
  int status = 0;
  context.check(context.driver().capture_status(stream, &status), "{}: asking whether a stream is captured",
                context.name());
  if (status != 0) refuseCapture(*this);
}

void CudaHostWork::enqueue(DriverContext& /*context*/, driver::Stream /*stream*/,
                           std::span<void* const> /*addresses*/) const {
  refuseCapture(*this);
}

}  // namespace tokamak
