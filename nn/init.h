// First values of parameters. Every call draws from the generator that it is given, so no two parameters are alike.
// Matrices have the paper's shape (d_out, d_in) and lie in memory as (d_in, d_out), which is how products like to read
// them.
#pragma once

#include "autograd/var.h"
#include "tensor/random.h"

namespace gradus {

// Uniform in +-sqrt(6 / (d_in + d_out)): keeps the variance of values and gradients alike (Glorot & Bengio 2010,
// equation 16).
Var xavier(std::int64_t d_out, std::int64_t d_in, Generator& generator, DType dtype = f32);
// `blocks` such matrices under each other, (blocks * d_out, d_in): the gates of a GRU or LSTM, each drawn for its own
// size.
Var xavier_stacked(std::int64_t blocks, std::int64_t d_out, std::int64_t d_in, Generator& generator, DType dtype = f32);
// Random orthogonal, by Gram-Schmidt on normal numbers: U' U = I, so repeated products neither grow nor shrink
// (Saxe et al. 2013). For d_out < d_in the rows are orthonormal.
Var orthogonal(std::int64_t d_out, std::int64_t d_in, Generator& generator, DType dtype = f32);
// `blocks` of them, each square, under each other: (blocks * d, d).
Var orthogonal_stacked(std::int64_t blocks, std::int64_t d, Generator& generator, DType dtype = f32);
// Uniform in +-bound.
Var uniform(const Shape& shape, double bound, Generator& generator, DType dtype = f32);
Var zero_parameter(const Shape& shape, DType dtype = f32);

}  // namespace gradus
