// The engine on one screen. README.md shows this file, and what it prints.
#include <gradus/gradus.h>

#include <cstdio>

using namespace gradus;

int main() {
  // Encoder states of three words, and a decoder state: a batch of one, in f64.
  Var H = parameter(tensor(Shape{1, 3, 3}, {1, 0, .2, .5, .5, .1, .1, .9, .3}, f64));  // (B, T_enc, d_h)
  Var s = parameter(tensor(Shape{1, 3}, {.9, .1, .2}, f64));                           // (B, d_s)

  // v_a . tanh(W_a s + U_a h_i). Layers are made in f32; a clone in f64 has parameters of its own.
  Generator init(1, "init");
  Score score = clone(Score(ScoreKind::additive, 3, 3, 4, init), f64);
  auto look = [&] { return attend(score(s, score.keys(H)), H); };

  // Is the gradient that of the function? (Yes; a swapped s_{t-1}/s_t passes this check as well.)
  std::puts(check_gradient([&] { return look().context; }, {{"W_a", score.W_a}, {"s", s}, {"H", H}}).text().c_str());

  // Teach it to look at the third word.
  Adam adam(parameters(score), {.rate = 0.1});
  for (int step = 0; step <= 20; ++step) {
    Var weights = look().weights;  // (B, T_enc)
    Var loss = sum(-log(select(weights, Axis{1}, 2)));
    if (step % 10 == 0) std::printf("step %2d  weights %s\n", step, numbers(weights.value(), 3).c_str());
    zero_grad(parameters(score));
    backward(loss);
    adam.step();
  }

  try {
    matmul(s, score.W_a);  // (1, 3) x (4, 3)
  } catch (const ShapeError& error) { std::puts(error.what()); }
}
