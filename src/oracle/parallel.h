// Loops over independent parts on the processors that this process may use.
#pragma once

#include <cstdint>
#include <functional>

namespace tokamak::oracle {

/// Calls part(i) once for each i in [0, count), on several threads where the machine has them. What a part raises is
/// raised here, after all threads have ended.
void forEachPart(int64_t count, const std::function<void(int64_t)>& part);

}  // namespace tokamak::oracle
