// What fusions are built of: functions, reductions, norms, products, views, random numbers.
#pragma once

#include "define/activations.h"
#include "define/attention.h"
#include "define/channel_norm.h"
#include "define/cross_entropy.h"
#include "define/functions.h"
#include "define/indexing.h"
#include "define/normalization.h"
#include "define/random.h"
#include "define/reductions.h"
#include "define/rope.h"
#include "define/softmax.h"
#include "define/statistics.h"
#include "define/structured.h"
