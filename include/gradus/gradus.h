// The whole library in one include, for programs outside this tree: #include <gradus/gradus.h>
#pragma once

#include "autograd/check_gradient.h"
#include "autograd/ops.h"
#include "autograd/pointwise.h"
#include "autograd/print_tape.h"
#include "autograd/var.h"
#include "tensor/format.h"
#include "tensor/matmul.h"
#include "tensor/pointwise.h"
#include "tensor/random.h"
#include "tensor/reduce.h"
#include "tensor/tensor.h"
