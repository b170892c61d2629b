// Schedules by hand: what the schedule commands do to loops (docs/text.md).
#pragma once

#include "schedule/cache.h"
#include "schedule/inline.h"
#include "schedule/memory.h"
#include "schedule/propagate.h"
#include "schedule/rfactor.h"
#include "schedule/set_device_mesh.h"
#include "schedule/transforms.h"
