// What exercises are made of, precompiled: a save then costs the learner's own lines only.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "nn/attention.h"
#include "nn/decoders.h"
#include "nn/layers.h"
#include "nn/recurrent.h"
